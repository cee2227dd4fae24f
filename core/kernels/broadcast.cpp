#include "core/kernels/broadcast.h"

#include "core/base/error.h"

namespace tpuest {
namespace {

struct Dim {
  int64_t size = 1;
  Broadcast::Offsets strides{};
};

// The strides of `shape` along the dimensions of `out`; 0 for a repeated dimension.
std::vector<int64_t> StridesIn(const Shape& shape, const Shape& out) {
  std::vector<int64_t> strides(static_cast<size_t>(out.rank()), 0);
  int64_t stride = 1;
  for (int back = 1; back <= shape.rank(); ++back) {
    const int64_t size = shape.dim(-back);
    Check(size == out.dim(-back) || size == 1, "{} does not broadcast to {}", shape.Text(),
          out.Text());
    strides[static_cast<size_t>(out.rank() - back)] = size == 1 ? 0 : stride;
    stride *= size;
  }
  return strides;
}

// True if, for every input, the dimension `outer` continues where `inner` ends, so they can be
// merged.
bool Follows(const Dim& outer, const Dim& inner) {
  for (size_t i = 0; i < outer.strides.size(); ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.size) return false;
  }
  return true;
}

}  // namespace

Broadcast::Broadcast(const Shape& out, const std::vector<Shape>& inputs) {
  Check(inputs.size() <= kMaxInputs);
  std::vector<Dim> merged;  // innermost first
  std::vector<std::vector<int64_t>> strides;
  for (const Shape& input : inputs) strides.push_back(StridesIn(input, out));
  for (size_t d = static_cast<size_t>(out.rank()); d-- > 0;) {
    Dim dim{.size = out.dim(static_cast<int>(d))};
    if (dim.size == 1) continue;
    for (size_t i = 0; i < inputs.size(); ++i) dim.strides[i] = strides[i][d];
    if (!merged.empty() && Follows(dim, merged.back())) {
      merged.back().size *= dim.size;
    } else {
      merged.push_back(dim);
    }
  }
  if (merged.empty()) merged.emplace_back();
  Check(merged.size() <= kMaxDims, "more than {} dimensions", kMaxDims);
  run_ = merged[0].size;
  steps_ = merged[0].strides;
  outer_ = merged.size() - 1;
  for (size_t d = 0; d < outer_; ++d) {
    dims_[d] = merged[outer_ - d].size;
    strides_[d] = merged[outer_ - d].strides;
    runs_ *= dims_[d];
  }
  if (run_ == 0) runs_ = 0;
}

}  // namespace tpuest
