#include "core/backend/rows/row_undo.h"

#include <algorithm>
#include <bit>

namespace tpuest {

void RowUndo::Begin() {
  Forget();
  is_on_ = true;
}

void RowUndo::Log(int column, int64_t row, const float* before, const float* values) {
  writes_.push_back({row, before == nullptr ? kNewRow : column});
  if (before != nullptr) values_.insert(values_.end(), before, before + width_);
  // A number that is not finite has all bits of its exponent set.
  uint32_t largest = 0;
  for (int64_t i = 0; i < width_; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7FFFFFFFU);
  }
  if (largest >= 0x7F800000U) is_finite_ = false;
}

void RowUndo::Forget() {
  is_on_ = false;
  is_finite_ = true;
  writes_.clear();
  values_.clear();
}

}  // namespace tpuest
