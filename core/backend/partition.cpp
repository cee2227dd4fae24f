#include "core/backend/partition.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/strided_copy.h"

namespace tpuest {
namespace {

// The first entry and the number of entries of a core's part along each dimension.
struct CoreCut {
  std::vector<int64_t> begin, size;
};

CoreCut CutOf(const Shape& shape, const Partition& dims, int core) {
  const auto rank = static_cast<size_t>(shape.rank());
  CoreCut cut{std::vector<int64_t>(rank, 0), shape.dims()};
  int64_t rest = core;
  for (size_t i = dims.size(); i-- > 0;) {
    const int64_t part = rest % dims[i];
    rest /= dims[i];
    const int64_t full = shape.dims()[i];
    const int64_t most = (full + dims[i] - 1) / dims[i];
    cut.begin[i] = std::min(full, part * most);
    cut.size[i] = std::min(full - cut.begin[i], most);
  }
  return cut;
}

// The offset of the core's part in the whole tensor, in elements.
int64_t FirstOf(const CoreCut& cut, const std::vector<int64_t>& strides) {
  int64_t first = 0;
  for (size_t i = 0; i < strides.size(); ++i) first += cut.begin[i] * strides[i];
  return first;
}

}  // namespace

Shape FirstPartShape(const Shape& shape, const Partition& dims) {
  return PartShape(shape, dims, 0);
}

Shape PartShape(const Shape& shape, const Partition& dims, int core) {
  return Shape(CutOf(shape, dims, core).size);
}

Tensor PaddedPart(const Tensor& tensor, const Partition& dims, int core) {
  const CoreCut cut = CutOf(tensor.shape(), dims, core);
  const Shape padded = FirstPartShape(tensor.shape(), dims);
  Tensor part(tensor.dtype(), padded);
  if (Shape(cut.size) != padded) std::memset(part.raw(), 0, part.bytes());
  if (Shape(cut.size).elements() == 0) return part;
  const std::vector<int64_t> strides = StridesOf(tensor.shape());
  StridedCopy(cut.size, {.strides = strides, .offset = FirstOf(cut, strides)},
              {.strides = StridesOf(padded)}, ElementBytes(tensor.dtype()))
      .Run(tensor.raw(), part.raw());
  return part;
}

void PutPaddedPart(const Tensor& part, const Partition& dims, int core, Tensor& whole) {
  const CoreCut cut = CutOf(whole.shape(), dims, core);
  if (Shape(cut.size).elements() == 0) return;
  const std::vector<int64_t> strides = StridesOf(whole.shape());
  StridedCopy(cut.size, {.strides = StridesOf(part.shape())},
              {.strides = strides, .offset = FirstOf(cut, strides)}, ElementBytes(whole.dtype()))
      .Run(part.raw(), whole.raw());
}

}  // namespace tpuest
