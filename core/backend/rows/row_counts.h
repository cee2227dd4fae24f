#pragma once
// RowCounts counts how many steps used each row of a table, and decides by these counts which rows
// are trained and which are forgotten. A step uses the rows that its examples look up, each once.
//
//   admit_after N        a row is trained if at least N - 1 steps had used it at the decision
//   evict_after_steps K  a row that no step used for K steps before the decision is forgotten: it
//                        reads as its initial value, and its count restarts at 0
//
// Decisions are made only at the end of each step whose number is a multiple of
// RowRules::decides_every. They depend only on the steps, and not on the layout of the rows or on
// when a run is saved, stopped and resumed.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/backend/rows/row_keeping.h"

namespace tpuest {

struct RowRules {
  int64_t admit_after = 1;
  std::optional<int64_t> evict_after_steps;
  int64_t decides_every = 1;  // steps
};

// The count of a row that was used.
struct RowCount {
  int64_t row = 0;
  int64_t last_step = 0;  // global step after the last step that used it
  uint32_t count = 0;     // number of steps that used it; saturates
  uint32_t is_trained = 0;
  bool operator==(const RowCount&) const = default;

  // The record: row, count, last step, 1 if the row is trained.
  static constexpr size_t kNumbers = 4;
  [[nodiscard]] std::array<int64_t, kNumbers> Record() const {
    return {row, count, last_step, is_trained};
  }
  // Inverse of Record; clamps numbers that no RowCount has.
  [[nodiscard]] static RowCount Of(std::span<const int64_t, kNumbers> record) {
    return {.row = record[0],
            .last_step = record[2],
            .count = static_cast<uint32_t>(std::clamp<int64_t>(record[1], 0, UINT32_MAX)),
            .is_trained = record[3] == 1 ? 1U : 0U};
  }
};

class RowCounts {
 public:
  // `budget` is that of the run's tables; the counts are paid from it.
  RowCounts(std::string table, const RowRules& rules, std::shared_ptr<RowBudget> budget);
  ~RowCounts();
  RowCounts(const RowCounts&) = delete;
  RowCounts& operator=(const RowCounts&) = delete;

  [[nodiscard]] const std::string& table() const { return table_; }

  // ---- while a step runs
  // Whether updates may write a row. Any number of threads.
  [[nodiscard]] bool IsTrained(int64_t row) const;
  // Notes that the step uses a row. One thread at a time.
  void See(int64_t row) { seen_.push_back(row); }

  // ---- between steps
  // Forgets what the step used, because the step is not applied.
  void DropStep() { seen_.clear(); }
  // Counts the step that ended with this global step. Returns the forgotten rows in ascending
  // order. Error kResource, with the sum, if the budget is spent.
  [[nodiscard]] std::vector<int64_t> EndStep(int64_t step);
  // From now on rows whose counts change go into this set; nullptr: into none.
  void NoteChanges(std::shared_ptr<RowSet> changed) { changed_ = std::move(changed); }
  [[nodiscard]] RowSet* changed() const { return changed_.get(); }
  // The count of a row; nullopt if no step used it.
  [[nodiscard]] std::optional<RowCount> Of(int64_t row) const;
  // The number of counted rows.
  [[nodiscard]] size_t size() const { return counts_.size(); }
  // All counts in ascending order of rows; and those of rows first .. first + n - 1.
  [[nodiscard]] std::vector<RowCount> Sorted() const { return Sorted(0, INT64_MAX); }
  [[nodiscard]] std::vector<RowCount> Sorted(int64_t first, int64_t n) const;
  void Set(std::vector<RowCount> row_counts);
  // Replaces the count of a row. Errors as EndStep.
  void Put(const RowCount& row_count) { At(row_count.row) = row_count; }
  // Drops the counts of all other rows, without noting them as changed.
  void KeepIf(const std::function<bool(int64_t row)>& keeps);

 private:
  [[nodiscard]] size_t SlotOf(int64_t row) const;
  // The count of a row; inserts 0 for a new row.
  [[nodiscard]] RowCount& At(int64_t row);
  void Count(int64_t row, int64_t step);
  // Rebuilds the index with slots for `rows` rows.
  void Index(size_t rows);
  void Pay(int64_t bytes);
  [[nodiscard]] std::vector<int64_t> Forget(int64_t step);
  void Erase(const std::function<bool(const RowCount&)>& is_gone);

  const std::string table_;
  const RowRules rules_;
  const std::shared_ptr<RowBudget> budget_;
  int64_t paid_ = 0;
  std::shared_ptr<RowSet> changed_;
  std::vector<int64_t> seen_;             // rows that the current step used
  std::vector<RowCount> counts_;          // in order of insertion
  std::vector<uint32_t> slots_;           // an open-addressing index: place + 1 in counts_, or 0
  mutable std::vector<uint32_t> sorted_;  // places in the order of their rows, while asked for
};

}  // namespace tpuest
