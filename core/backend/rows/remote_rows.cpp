#include "core/backend/rows/remote_rows.h"

#include <algorithm>
#include <bit>

#include "core/backend/rows/row_slots.h"

namespace tpuest {
namespace {

constexpr size_t kFewestRemote = 64;

}  // namespace

size_t RemoteRowSet::SlotOf(int64_t row) const {
  return FindSlot(row, slots_, [this](uint32_t place) { return rows_.rows[place]; });
}

void RemoteRowSet::Add(int64_t row) {
  const size_t n = rows_.rows.size();
  if (2 * (n + 1) > slots_.size()) {
    slots_.assign(std::bit_ceil(4 * (n + kFewestRemote)), 0);
    for (size_t i = 0; i < n; ++i) slots_[SlotOf(rows_.rows[i])] = static_cast<uint32_t>(i + 1);
  }
  uint32_t& slot = slots_[SlotOf(row)];
  if (slot != 0) return;
  rows_.rows.push_back(row);
  slot = static_cast<uint32_t>(n + 1);
}

int64_t RemoteRowSet::Find(int64_t row) const {
  if (rows_.rows.empty()) return -1;
  return int64_t{slots_[SlotOf(row)]} - 1;
}

void RemoteRowSet::Clear() {
  if (rows_.rows.empty()) return;
  rows_.rows.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
}

}  // namespace tpuest
