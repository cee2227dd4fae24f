#pragma once
// Splits the records of a CSV file in two by a hash of each.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tpuest::data {

// True where a record, without its line end, is of the part eval: about `fraction` of all are. The
// hash is CRC-32C, mixed as SplitMix64 does; it never changes, for runs go on with their part.
[[nodiscard]] bool IsOfEval(std::string_view record, double fraction);

// Some of records 0, 1, 2, ..., at two bits for each of all.
class RecordSubset {
 public:
  void Append(bool is_kept);
  [[nodiscard]] int64_t size() const { return size_; }
  // The record that is the i-th of those that are kept.
  [[nodiscard]] int64_t operator[](int64_t i) const;

 private:
  std::vector<uint64_t> words_;  // a bit a record, the lowest first
  std::vector<int64_t> before_;  // how many are kept before each word's records
  int64_t all_ = 0;
  int64_t size_ = 0;
};

}  // namespace tpuest::data
