#pragma once
// Splits the records of a CSV file into two parts by a hash of each record.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tpuest::data {

// Whether a record, without its line end, belongs to the part `eval`, which has about `fraction` of
// all records. The hash is CRC-32C followed by the mixing of SplitMix64. It never changes, because
// resumed runs must keep their part.
[[nodiscard]] bool IsOfEval(std::string_view record, double fraction);

// A subset of the records 0, 1, 2, ...; takes two bits per record of the whole set.
class RecordSubset {
 public:
  void Append(bool is_kept);
  [[nodiscard]] int64_t size() const { return size_; }
  // The number of the i-th record of the subset.
  [[nodiscard]] int64_t operator[](int64_t i) const;

 private:
  std::vector<uint64_t> words_;  // one bit per record, the lowest first
  std::vector<int64_t> before_;  // number of records of the subset before each word
  int64_t all_ = 0;
  int64_t size_ = 0;
};

}  // namespace tpuest::data
