#pragma once
// RowSights counts the rows of a table that training sees, and says by these counts which rows are
// trained and which are forgotten. A step sees the rows that its examples look up, each once.
//
//   admit_after N        a row is trained once it was seen N - 1 times when it was decided
//   evict_after_steps K  a row that was not seen for K steps when it was decided is forgotten: it
//                        reads as its initial value, and its count begins anew
//
// It is decided at the end of each step whose number is a multiple of RowRules::decides_every, and
// at no other moment. So what is decided follows from the steps alone: not from how the rows are
// kept, nor from when a run is saved, cut and gone on with.

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

// What is known of a row that was seen.
struct Sight {
  int64_t row = 0;
  int64_t last_step = 0;  // that saw it: the global step that it made
  uint32_t count = 0;     // of steps; it stops at the largest number
  uint32_t is_trained = 0;
  bool operator==(const Sight&) const = default;

  // The same as a line of numbers: row, count, last step, 1 if it is trained.
  static constexpr size_t kNumbers = 4;
  [[nodiscard]] std::array<int64_t, kNumbers> Line() const {
    return {row, count, last_step, is_trained};
  }
  // Of numbers that are no line it is another one's.
  [[nodiscard]] static Sight Of(std::span<const int64_t, kNumbers> line) {
    return {.row = line[0],
            .last_step = line[2],
            .count = static_cast<uint32_t>(std::clamp<int64_t>(line[1], 0, UINT32_MAX)),
            .is_trained = line[3] == 1 ? 1U : 0U};
  }
};

class RowSights {
 public:
  // `budget`: of the run's tables, which these counts are a part of.
  RowSights(std::string table, const RowRules& rules, std::shared_ptr<RowBudget> budget);
  ~RowSights();
  RowSights(const RowSights&) = delete;
  RowSights& operator=(const RowSights&) = delete;

  [[nodiscard]] const std::string& table() const { return table_; }

  // ---- while a step runs
  // Whether updates may write a row. Any number of threads.
  [[nodiscard]] bool IsTrained(int64_t row) const;
  // The step sees a row. One thread at a time.
  void See(int64_t row) { seen_.push_back(row); }

  // ---- between steps
  // The step is not applied: it has seen nothing.
  void DropStep() { seen_.clear(); }
  // The step made this global step. Returns the rows that are forgotten, the smallest first. Error
  // kResource, with the sum, where the budget is spent.
  [[nodiscard]] std::vector<int64_t> EndStep(int64_t step);
  // From now on the rows of which more or less is known go into a set; nullptr: into none.
  void NoteChanges(std::shared_ptr<RowSet> changed) { changed_ = std::move(changed); }
  [[nodiscard]] RowSet* changed() const { return changed_.get(); }
  // What is known of a row.
  [[nodiscard]] std::optional<Sight> Of(int64_t row) const;
  // How many rows are known.
  [[nodiscard]] size_t size() const { return sights_.size(); }
  // All that is known, the smallest row first; and of rows first .. first + n - 1.
  [[nodiscard]] std::vector<Sight> Sorted() const { return Sorted(0, INT64_MAX); }
  [[nodiscard]] std::vector<Sight> Sorted(int64_t first, int64_t n) const;
  void Set(std::vector<Sight> sights);
  // Takes this in, in the place of what is known of the row. Error as of EndStep.
  void Put(const Sight& sight) { At(sight.row) = sight; }
  // Nothing is known of other rows, nor that they changed.
  void KeepIf(const std::function<bool(int64_t row)>& keeps);

 private:
  [[nodiscard]] size_t SlotOf(int64_t row) const;
  // What is known of a row; of one that is new, nothing yet.
  [[nodiscard]] Sight& At(int64_t row);
  void Count(int64_t row, int64_t step);
  // Has slots for so many rows, and each known row in its own.
  void Index(size_t rows);
  void Pay(int64_t bytes);
  [[nodiscard]] std::vector<int64_t> Forget(int64_t step);
  void Erase(const std::function<bool(const Sight&)>& is_gone);

  const std::string table_;
  const RowRules rules_;
  const std::shared_ptr<RowBudget> budget_;
  int64_t paid_ = 0;
  std::shared_ptr<RowSet> changed_;
  std::vector<int64_t> seen_;             // by the step that runs
  std::vector<Sight> sights_;             // in the order in which rows came
  std::vector<uint32_t> slots_;           // an open-addressing index: place + 1 in sights_, or 0
  mutable std::vector<uint32_t> sorted_;  // places in the order of their rows, while asked for
};

}  // namespace tpuest
