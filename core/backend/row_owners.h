#pragma once
// Where the processes of a group share a table that is kept by rows (row_table.h), each row has one
// owner, which alone holds and updates it. What a step looks up of others' rows comes as guests of
// that step (cpu/row_fetch.h); between steps the chief reads any row, as if it held all.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tpuest {

// How rows are dealt out, as TensorFlow's partition_strategy: kMod gives row r to process r modulo
// their number, kDiv runs of as many rows to each.
enum class RowDeal { kMod, kDiv };

class RowOwners {
 public:
  RowOwners(int processes, int rank, RowDeal deal)
      : processes_(processes), rank_(rank), deal_(deal) {}
  virtual ~RowOwners() = default;
  RowOwners(const RowOwners&) = delete;
  RowOwners& operator=(const RowOwners&) = delete;

  [[nodiscard]] int processes() const { return processes_; }
  // The process that has a row of a table of `rows`.
  [[nodiscard]] int OwnerOf(int64_t row, int64_t rows) const {
    if (deal_ == RowDeal::kMod) return static_cast<int>(row % processes_);
    return static_cast<int>(row / ((rows + processes_ - 1) / processes_));
  }
  [[nodiscard]] bool IsOwn(int64_t row, int64_t rows) const { return OwnerOf(row, rows) == rank_; }

  // What the others have; in the chief, while they wait for it. Error kLost.
  // The numbers of their written rows of a table among first .. first + n - 1, the smallest first.
  [[nodiscard]] virtual std::vector<int64_t> Written(const std::string& table, int64_t first,
                                                     int64_t n) = 0;
  // Rows of theirs of one variable, [rows.size(), width], which gets the values of those that are
  // written: says of which.
  [[nodiscard]] virtual std::vector<bool> Read(const std::string& variable, int64_t table_rows,
                                               std::span<const int64_t> rows, int64_t width,
                                               float* to) = 0;

 private:
  const int processes_;
  const int rank_;
  const RowDeal deal_;
};

}  // namespace tpuest
