#include "core/tensor/shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/tensor/limits.h"

namespace tpuest {

bool Shape::fully_known() const {
  return known_rank_ && std::all_of(dims_.begin(), dims_.end(), [](int64_t d) { return d >= 0; });
}

int64_t Shape::elements() const {
  Check(fully_known(), "{} has unknown dimensions", Text());
  int64_t n = 1;
  for (const int64_t d : dims_) n *= d;
  return n;
}

std::string Shape::Text() const {
  if (!known_rank_) return "<unknown>";
  std::string text = "[";
  for (size_t i = 0; i < dims_.size(); ++i) {
    if (i > 0) text += ',';
    text += dims_[i] < 0 ? "?" : fmt::format("{}", dims_[i]);
  }
  return text + "]";
}

bool Compatible(const Shape& a, const Shape& b) {
  if (!a.known_rank() || !b.known_rank()) return true;
  if (a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) >= 0 && b.dim(i) >= 0 && a.dim(i) != b.dim(i)) return false;
  }
  return true;
}

bool IsCountable(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t dim : shape.dims()) {
    if (dim < kUnknownDim || (dim > 0 && elements > kMostElements / dim)) return false;
    if (dim > 0) elements *= dim;
  }
  return true;
}

}  // namespace tpuest
