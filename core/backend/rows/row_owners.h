#pragma once
// The owners of the rows of a table that the processes of a group share (row_table.h). Only the
// owner of a row holds and updates it. A step fetches the remote rows that it looks up
// (cpu/exchange/row_fetch.h); between steps the chief reads any row as if it held all of them.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tpuest {

// The partitioning of rows, as TensorFlow's partition_strategy: kMod gives row r to process r %
// processes, kDiv gives each process one run of equally many rows.
enum class RowDeal { kMod, kDiv };

// Kinds of per-row metadata. A record is a list of integers that begins with the row number; most
// kinds have only the row number.
enum class RowRecords : int32_t {
  kWritten,      // written rows
  kChanged,      // changed rows
  kDropped,      // changed rows that are not written (any more)
  kSeen,         // counted rows, with all numbers of a RowCount (row_counts.h)
  kSeenChanged,  // rows whose count has changed since changes were last forgotten, as kSeen
  kSeenGone      // rows that were counted then and are no longer counted
};

// row % n, without a division if n is a power of two: a step calls it several times for each row
// that it looks up. `row` is not negative.
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
  // The index of a row among these rows, and the row of an index.
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
  // The process that owns a row of a table of `rows` rows.
  [[nodiscard]] int OwnerOf(int64_t row, int64_t rows) const {
    if (deal_ == RowDeal::kMod) return static_cast<int>(RowModulo(row, processes_));
    return static_cast<int>(row / ((rows + processes_ - 1) / processes_));
  }
  // The rows of this process.
  [[nodiscard]] OwnedRows Owned(int64_t rows) const {
    if (deal_ == RowDeal::kMod) return {rank_, rows, processes_};
    const int64_t run = (rows + processes_ - 1) / processes_;
    return {rank_ * run, std::min(rows, (rank_ + 1) * run), 1};
  }

  // The functions below read the other processes' rows. Only the chief calls them, while the other
  // processes wait for it. Error kLost if a process is lost.
  // The other processes' records of a table for rows first .. first + n - 1, concatenated in
  // ascending order of rows; and the number of records for all rows.
  [[nodiscard]] virtual std::vector<int64_t> Records(const std::string& table, RowRecords what,
                                                     int64_t first, int64_t n) = 0;
  [[nodiscard]] virtual int64_t CountRecords(const std::string& table, RowRecords what) = 0;
  // Makes the other processes forget which rows have changed.
  virtual void ForgetChanges() = 0;
  // Copies the written rows among `rows` of one variable to [rows.size(), width], and returns for
  // each row whether it is written.
  [[nodiscard]] virtual std::vector<bool> Read(const std::string& variable, int64_t table_rows,
                                               std::span<const int64_t> rows, int64_t width,
                                               float* to) = 0;

 private:
  const int processes_;
  const int rank_;
  const RowDeal deal_;
};

}  // namespace tpuest
