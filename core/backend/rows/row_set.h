#pragma once
// A set of row numbers. One thread at a time.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "core/backend/rows/row_slots.h"
#include "core/base/error.h"

namespace tpuest {

class RowSet {
 public:
  void Insert(int64_t row) {
    if (2 * (rows_.size() + 1) > slots_.size()) Index(4 * (rows_.size() + kFewest));
    uint32_t& slot = slots_[FindSlot(row, slots_, [this](uint32_t place) { return rows_[place]; })];
    if (slot != 0) return;
    Check(rows_.size() < UINT32_MAX - 1, "a set of 2^32 rows");
    rows_.push_back(row);
    slot = static_cast<uint32_t>(rows_.size());
  }
  void Clear() {
    rows_.clear();
    slots_.clear();
  }
  template <class Keeps>
  void KeepIf(const Keeps& keeps) {
    std::erase_if(rows_, [&](int64_t row) { return !keeps(row); });
    Index(4 * (rows_.size() + kFewest));
  }
  [[nodiscard]] std::vector<int64_t> Sorted() const { return Sorted(0, INT64_MAX); }
  // The rows among first .. first + n - 1.
  [[nodiscard]] std::vector<int64_t> Sorted(int64_t first, int64_t n) const {
    std::vector<int64_t> rows;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(rows),
                 [&](int64_t row) { return row >= first && row - first < n; });
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  static constexpr size_t kFewest = 64;
  // Rebuilds the index with at least `slots` slots.
  void Index(size_t slots) {
    slots_.assign(std::bit_ceil(slots), 0);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const auto at = [this](uint32_t place) { return rows_[place]; };
      slots_[FindSlot(rows_[i], slots_, at)] = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<int64_t> rows_;    // in order of insertion
  std::vector<uint32_t> slots_;  // place + 1 in rows_, or 0
};

}  // namespace tpuest
