#include "core/graph/flops.h"

#include <algorithm>

namespace tpuest {

int64_t FlopsOf(const Node& node) { return node.op().flops == nullptr ? 0 : node.op().flops(node); }

int64_t CountedElements(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t dim : shape.dims()) elements *= dim == kUnknownDim ? 1 : dim;
  return elements;
}

int64_t OutputFlops(const Node& node) {
  return IsFloating(node.output_dtype(0)) ? CountedElements(node.output_shape(0)) : 0;
}

int64_t InputFlops(const Node& node) {
  int64_t most = 0;
  for (const Value& input : node.inputs()) {
    if (IsFloating(input.dtype())) most = std::max(most, CountedElements(input.shape()));
  }
  return most;
}

}  // namespace tpuest
