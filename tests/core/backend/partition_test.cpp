// How the cores of a replica share a tensor, as TensorFlow's infeed cuts it.

#include "core/backend/partition.h"

#include <doctest/doctest.h>

#include <numeric>

namespace tpuest {
namespace {

std::vector<Shape> PartShapes(const Shape& shape, const Partition& dims) {
  const int64_t cores = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::vector<Shape> shapes;
  for (int core = 0; core < cores; ++core) shapes.push_back(PartShape(shape, dims, core));
  return shapes;
}

std::vector<int64_t> Sizes(int64_t size, int64_t parts) {
  std::vector<int64_t> sizes;
  for (const Shape& shape : PartShapes(Shape({size}), {parts})) sizes.push_back(shape.dim(0));
  return sizes;
}

using PartSizes = std::vector<int64_t>;

PartSizes NumbersOf(const Tensor& tensor) {
  PartSizes numbers;
  for (int64_t i = 0; i < tensor.shape().elements(); ++i) {
    numbers.push_back(static_cast<int64_t>(tensor.AsDouble(i)));
  }
  return numbers;
}

TEST_CASE("parts are cut greedily: the last ones have fewer entries, or none") {
  CHECK(Sizes(321, 2) == PartSizes{161, 160});
  CHECK(Sizes(5, 4) == PartSizes{2, 2, 1, 0});
  CHECK(Sizes(14, 4) == PartSizes{4, 4, 4, 2});
  CHECK(Sizes(5, 2) == PartSizes{3, 2});
  const std::vector<Shape> both = PartShapes(Shape({14, 5}), {4, 2});
  CHECK(both.front() == Shape({4, 3}));
  CHECK(both[1] == Shape({4, 2}));
  CHECK(both.back() == Shape({2, 2}));
}

TEST_CASE("a core has its part, filled up with zeros to the first one's shape") {
  // 0 1 2
  // 3 4 5
  // 6 7 8
  const Tensor x = Tensor::Of<float>(Shape({3, 3}), {0, 1, 2, 3, 4, 5, 6, 7, 8});
  const auto part = [&](int core) { return PaddedPart(x, {2, 2}, core); };
  CHECK(part(0).shape() == Shape({2, 2}));
  CHECK(NumbersOf(part(0)) == PartSizes{0, 1, 3, 4});
  CHECK(NumbersOf(part(1)) == PartSizes{2, 0, 5, 0});
  CHECK(NumbersOf(part(2)) == PartSizes{6, 7, 0, 0});
  CHECK(NumbersOf(part(3)) == PartSizes{8, 0, 0, 0});
  const Tensor few = Tensor::Of<int32_t>(Shape({3}), {7, 8, 9});
  CHECK(NumbersOf(PaddedPart(few, {4}, 2)) == PartSizes{9});
  CHECK(NumbersOf(PaddedPart(few, {4}, 3)) == PartSizes{0});
}

}  // namespace
}  // namespace tpuest
