#pragma once
// Where the processes of a group share a table that is kept by rows (row_table.h), each row has one
// owner, which alone holds and updates it. What a step looks up of others' rows comes as guests of
// that step (cpu/row_fetch.h); between steps the chief reads any row, as if it held all.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tpuest {

// How rows are dealt out, as TensorFlow's partition_strategy: kMod gives row r to process r modulo
// their number, kDiv runs of as many rows to each.
enum class RowDeal { kMod, kDiv };

// What is known of the rows of a table, in lines of numbers of which the first is the row's: of
// those that
enum class RowLines : int32_t {
  kWritten,      // are written: it alone
  kChanged,      // are noted as changed: it alone
  kDropped,      // are noted as changed and not written: it alone
  kSeen,         // are counted: all numbers of a Sight (row_sights.h)
  kSeenChanged,  // are counted, and otherwise than when changes were last forgotten: as kSeen
  kSeenGone      // were counted then, and no longer: it alone
};

// row % n, without the division where n is a power of two: it is asked several times of each row
// that a step looks up. `row` is not negative.
inline int64_t RowModulo(int64_t row, int64_t n) {
  return (n & (n - 1)) == 0 ? row & (n - 1) : row % n;
}

// The rows of a process: first, first + step, ... below end.
struct OwnedRows {
  int64_t first = 0;
  int64_t end = 0;
  int64_t step = 1;

  [[nodiscard]] bool Has(int64_t row) const {
    return row >= first && row < end && (step == 1 || RowModulo(row, step) == first);
  }
  [[nodiscard]] int64_t count() const { return end <= first ? 0 : (end - first - 1) / step + 1; }
  // Which of them a row of theirs is, and the row that this is.
  [[nodiscard]] int64_t PlaceOf(int64_t row) const {
    const auto n = static_cast<uint64_t>(step);
    return (n & (n - 1)) == 0 ? (row - first) >> std::countr_zero(n) : (row - first) / step;
  }
  [[nodiscard]] int64_t RowAt(int64_t place) const { return first + place * step; }
};

class RowOwners {
 public:
  RowOwners(int processes, int rank, RowDeal deal)
      : processes_(processes), rank_(rank), deal_(deal) {}
  virtual ~RowOwners() = default;
  RowOwners(const RowOwners&) = delete;
  RowOwners& operator=(const RowOwners&) = delete;

  [[nodiscard]] int processes() const { return processes_; }
  [[nodiscard]] int rank() const { return rank_; }
  // The process that has a row of a table of `rows`.
  [[nodiscard]] int OwnerOf(int64_t row, int64_t rows) const {
    if (deal_ == RowDeal::kMod) return static_cast<int>(RowModulo(row, processes_));
    return static_cast<int>(row / ((rows + processes_ - 1) / processes_));
  }
  // Those of this process.
  [[nodiscard]] OwnedRows Owned(int64_t rows) const {
    if (deal_ == RowDeal::kMod) return {rank_, rows, processes_};
    const int64_t run = (rows + processes_ - 1) / processes_;
    return {rank_ * run, std::min(rows, (rank_ + 1) * run), 1};
  }

  // What the others have; in the chief, while they wait for it. Error kLost.
  // Their lines of a table for rows first .. first + n - 1, one behind the other, the smallest row
  // first; and how many there are for all rows.
  [[nodiscard]] virtual std::vector<int64_t> Lines(const std::string& table, RowLines what,
                                                   int64_t first, int64_t n) = 0;
  [[nodiscard]] virtual int64_t CountLines(const std::string& table, RowLines what) = 0;
  // They forget which rows have changed.
  virtual void ForgetChanges() = 0;
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
