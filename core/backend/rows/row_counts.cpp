#include "core/backend/rows/row_counts.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/backend/rows/row_set.h"
#include "core/backend/rows/row_slots.h"
#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

constexpr size_t kFewestSlots = 1024;

// A power of two; at most three quarters of the slots are used.
size_t SlotsFor(size_t rows) {
  return std::max<size_t>(std::bit_ceil(rows + rows / 3 + 1), kFewestSlots);
}

}  // namespace

RowCounts::RowCounts(std::string table, const RowRules& rules, std::shared_ptr<RowBudget> budget)
    : table_(std::move(table)), rules_(rules), budget_(std::move(budget)) {
  Check(rules_.admit_after > 0 && rules_.decides_every > 0,
        "row rules with a zero count or interval");
  Index(0);
}

RowCounts::~RowCounts() { budget_->held -= paid_; }

void RowCounts::Pay(int64_t bytes) {
  const int64_t held = budget_->held += bytes;
  paid_ += bytes;
  if (bytes <= 0 || held <= budget_->most) return;
  throw Error(Code::kResource,
              fmt::format("the counts of {} rows of table \"{}\" need {} bytes more: all tables "
                          "would have {}, tpuest.embeddings.max_resident_bytes is {}",
                          counts_.size(), table_, bytes, held, budget_->most),
              "raise it, or count fewer rows with a smaller tpuest.embeddings.evict_after_steps")
      .Key("tpuest.embeddings.max_resident_bytes");
}

size_t RowCounts::SlotOf(int64_t row) const {
  return FindSlot(row, slots_, [&](uint32_t place) { return counts_[place].row; });
}

void RowCounts::Index(size_t rows) {
  rows = std::max(rows, kFewestSlots / 2);
  const size_t slots = SlotsFor(rows);
  const auto bytes = static_cast<int64_t>(slots * sizeof(uint32_t) + rows * sizeof(RowCount));
  Pay(bytes - paid_);
  counts_.reserve(rows);
  slots_.assign(slots, 0);
  for (size_t i = 0; i < counts_.size(); ++i) {
    slots_[SlotOf(counts_[i].row)] = static_cast<uint32_t>(i + 1);
  }
}

bool RowCounts::IsTrained(int64_t row) const {
  if (rules_.admit_after == 1) return true;
  const uint32_t at = slots_[SlotOf(row)];
  return at != 0 && counts_[at - 1].is_trained != 0;
}

RowCount& RowCounts::At(int64_t row) {
  sorted_ = {};
  size_t slot = SlotOf(row);
  if (slots_[slot] == 0) {
    if (SlotsFor(counts_.size() + 1) > slots_.size()) {
      Index(2 * counts_.size());
      slot = SlotOf(row);
    }
    Check(counts_.size() < UINT32_MAX - 1, "counts of 2^32 rows");
    counts_.push_back({.row = row, .is_trained = rules_.admit_after == 1});
    slots_[slot] = static_cast<uint32_t>(counts_.size());
  }
  return counts_[slots_[slot] - 1];
}

void RowCounts::Count(int64_t row, int64_t step) {
  RowCount& row_count = At(row);
  if (row_count.count > 0 && row_count.last_step == step) return;
  row_count.last_step = step;
  if (row_count.count < UINT32_MAX) ++row_count.count;
  if (changed_ != nullptr) changed_->Insert(row);
}

std::optional<RowCount> RowCounts::Of(int64_t row) const {
  const uint32_t at = slots_[SlotOf(row)];
  return at != 0 ? std::optional(counts_[at - 1]) : std::nullopt;
}

std::vector<int64_t> RowCounts::EndStep(int64_t step) {
  for (const int64_t row : seen_) Count(row, step);
  seen_.clear();
  if (step % rules_.decides_every != 0) return {};
  std::vector<int64_t> forgotten = Forget(step);
  for (RowCount& row_count : counts_) {
    if (row_count.is_trained != 0 || row_count.count < rules_.admit_after - 1) continue;
    row_count.is_trained = 1;
    if (changed_ != nullptr) changed_->Insert(row_count.row);
  }
  return forgotten;
}

std::vector<int64_t> RowCounts::Forget(int64_t step) {
  std::vector<int64_t> forgotten;
  if (!rules_.evict_after_steps) return forgotten;
  const auto is_old = [&](const RowCount& row_count) {
    return step - row_count.last_step >= *rules_.evict_after_steps;
  };
  for (const RowCount& row_count : counts_) {
    if (!is_old(row_count)) continue;
    forgotten.push_back(row_count.row);
    if (changed_ != nullptr) changed_->Insert(row_count.row);
  }
  if (forgotten.empty()) return forgotten;
  Erase(is_old);
  std::sort(forgotten.begin(), forgotten.end());
  return forgotten;
}

void RowCounts::Erase(const std::function<bool(const RowCount&)>& is_gone) {
  sorted_ = {};
  std::erase_if(counts_, is_gone);
  counts_.shrink_to_fit();
  Index(counts_.size());
}

std::vector<RowCount> RowCounts::Sorted(int64_t first, int64_t n) const {
  const auto row_at = [this](uint32_t place) { return counts_[place].row; };
  if (sorted_.empty()) {
    sorted_.resize(counts_.size());
    std::iota(sorted_.begin(), sorted_.end(), 0);
    std::sort(sorted_.begin(), sorted_.end(),
              [&](uint32_t a, uint32_t b) { return row_at(a) < row_at(b); });
  }
  std::vector<RowCount> row_counts;
  auto at = std::partition_point(sorted_.begin(), sorted_.end(),
                                 [&](uint32_t place) { return row_at(place) < first; });
  for (; at != sorted_.end() && row_at(*at) - first < n; ++at) row_counts.push_back(counts_[*at]);
  return row_counts;
}

void RowCounts::KeepIf(const std::function<bool(int64_t row)>& keeps) {
  Erase([&](const RowCount& row_count) { return !keeps(row_count.row); });
  if (changed_ != nullptr) changed_->KeepIf(keeps);
}

void RowCounts::Set(std::vector<RowCount> row_counts) {
  seen_.clear();
  sorted_ = {};
  counts_ = std::move(row_counts);
  Index(counts_.size());
}

}  // namespace tpuest
