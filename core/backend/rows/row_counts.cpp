#include "core/backend/rows/row_sights.h"

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

// A power of two, of which three quarters are taken at most.
size_t SlotsFor(size_t rows) {
  return std::max<size_t>(std::bit_ceil(rows + rows / 3 + 1), kFewestSlots);
}

}  // namespace

RowSights::RowSights(std::string table, const RowRules& rules, std::shared_ptr<RowBudget> budget)
    : table_(std::move(table)), rules_(rules), budget_(std::move(budget)) {
  Check(rules_.admit_after > 0 && rules_.decides_every > 0, "rules of no counts or steps");
  Index(0);
}

RowSights::~RowSights() { budget_->held -= paid_; }

void RowSights::Pay(int64_t bytes) {
  const int64_t held = budget_->held += bytes;
  paid_ += bytes;
  if (bytes <= 0 || held <= budget_->most) return;
  throw Error(Code::kResource,
              fmt::format("the counts of {} rows of table \"{}\" need {} bytes more: all tables "
                          "would have {}, tpuest.embeddings.max_resident_bytes is {}",
                          sights_.size(), table_, bytes, held, budget_->most),
              "raise it; with a smaller tpuest.embeddings.evict_after_steps fewer rows are known")
      .Key("tpuest.embeddings.max_resident_bytes");
}

size_t RowSights::SlotOf(int64_t row) const {
  return FindSlot(row, slots_, [&](uint32_t place) { return sights_[place].row; });
}

void RowSights::Index(size_t rows) {
  rows = std::max(rows, kFewestSlots / 2);
  const size_t slots = SlotsFor(rows);
  const auto bytes = static_cast<int64_t>(slots * sizeof(uint32_t) + rows * sizeof(Sight));
  Pay(bytes - paid_);
  sights_.reserve(rows);
  slots_.assign(slots, 0);
  for (size_t i = 0; i < sights_.size(); ++i) {
    slots_[SlotOf(sights_[i].row)] = static_cast<uint32_t>(i + 1);
  }
}

bool RowSights::IsTrained(int64_t row) const {
  if (rules_.admit_after == 1) return true;
  const uint32_t at = slots_[SlotOf(row)];
  return at != 0 && sights_[at - 1].is_trained != 0;
}

Sight& RowSights::At(int64_t row) {
  sorted_ = {};
  size_t slot = SlotOf(row);
  if (slots_[slot] == 0) {
    if (SlotsFor(sights_.size() + 1) > slots_.size()) {
      Index(2 * sights_.size());
      slot = SlotOf(row);
    }
    Check(sights_.size() < UINT32_MAX - 1, "counts of 2^32 rows");
    sights_.push_back({.row = row, .is_trained = rules_.admit_after == 1});
    slots_[slot] = static_cast<uint32_t>(sights_.size());
  }
  return sights_[slots_[slot] - 1];
}

void RowSights::Count(int64_t row, int64_t step) {
  Sight& sight = At(row);
  if (sight.count > 0 && sight.last_step == step) return;
  sight.last_step = step;
  if (sight.count < UINT32_MAX) ++sight.count;
  if (changed_ != nullptr) changed_->Insert(row);
}

std::optional<Sight> RowSights::Of(int64_t row) const {
  const uint32_t at = slots_[SlotOf(row)];
  return at != 0 ? std::optional(sights_[at - 1]) : std::nullopt;
}

std::vector<int64_t> RowSights::EndStep(int64_t step) {
  for (const int64_t row : seen_) Count(row, step);
  seen_.clear();
  if (step % rules_.decides_every != 0) return {};
  std::vector<int64_t> forgotten = Forget(step);
  for (Sight& sight : sights_) {
    if (sight.is_trained != 0 || sight.count < rules_.admit_after - 1) continue;
    sight.is_trained = 1;
    if (changed_ != nullptr) changed_->Insert(sight.row);
  }
  return forgotten;
}

std::vector<int64_t> RowSights::Forget(int64_t step) {
  std::vector<int64_t> forgotten;
  if (!rules_.evict_after_steps) return forgotten;
  const auto is_old = [&](const Sight& sight) {
    return step - sight.last_step >= *rules_.evict_after_steps;
  };
  for (const Sight& sight : sights_) {
    if (!is_old(sight)) continue;
    forgotten.push_back(sight.row);
    if (changed_ != nullptr) changed_->Insert(sight.row);
  }
  if (forgotten.empty()) return forgotten;
  Erase(is_old);
  std::sort(forgotten.begin(), forgotten.end());
  return forgotten;
}

void RowSights::Erase(const std::function<bool(const Sight&)>& is_gone) {
  sorted_ = {};
  std::erase_if(sights_, is_gone);
  sights_.shrink_to_fit();
  Index(sights_.size());
}

std::vector<Sight> RowSights::Sorted(int64_t first, int64_t n) const {
  const auto row_at = [this](uint32_t place) { return sights_[place].row; };
  if (sorted_.empty()) {
    sorted_.resize(sights_.size());
    std::iota(sorted_.begin(), sorted_.end(), 0);
    std::sort(sorted_.begin(), sorted_.end(),
              [&](uint32_t a, uint32_t b) { return row_at(a) < row_at(b); });
  }
  std::vector<Sight> sights;
  auto at = std::partition_point(sorted_.begin(), sorted_.end(),
                                 [&](uint32_t place) { return row_at(place) < first; });
  for (; at != sorted_.end() && row_at(*at) - first < n; ++at) sights.push_back(sights_[*at]);
  return sights;
}

void RowSights::KeepIf(const std::function<bool(int64_t row)>& keeps) {
  Erase([&](const Sight& sight) { return !keeps(sight.row); });
  if (changed_ != nullptr) changed_->KeepIf(keeps);
}

void RowSights::Set(std::vector<Sight> sights) {
  seen_.clear();
  sorted_ = {};
  sights_ = std::move(sights);
  Index(sights_.size());
}

}  // namespace tpuest
