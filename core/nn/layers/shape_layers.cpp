#include "core/nn/layers/shape_layers.h"

#include <algorithm>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/random.h"

namespace tpuest::nn {
namespace {

// The number of elements of one example. Throws Error kUsage if that is not known.
int64_t ExampleSize(const LayerScope& layer, const Shape& shape) {
  if (!shape.known_rank() || shape.rank() < 1) {
    layer.Fail(fmt::format("takes an input [batch, ...], got {}", shape.Text()));
  }
  int64_t size = 1;
  for (int axis = 1; axis < shape.rank(); ++axis) {
    if (shape.dim(axis) == kUnknownDim) {
      layer.Fail(fmt::format("a dimension of its input {} is not known", shape.Text()));
    }
    size *= shape.dim(axis);
  }
  return size;
}

// The dimensions of `shape`, -1 replaced by what the others leave of `size`.
std::vector<int64_t> FillIn(const LayerScope& layer, std::vector<int64_t> shape, int64_t size) {
  const auto open = std::find(shape.begin(), shape.end(), -1);
  int64_t product = 1;
  for (auto dim = shape.begin(); dim != shape.end(); ++dim) {
    if (dim == open) continue;
    if (*dim < 1) layer.Fail(fmt::format("{} is not a dimension, or -1 stands twice", *dim));
    product *= *dim;
  }
  if (open != shape.end() && size % product == 0) {
    *open = size / product;
    product = size;
  }
  if (product != size) {
    layer.Fail(
        fmt::format("an example of {} elements does not fit into {}", size, Shape(shape).Text()));
  }
  return shape;
}

}  // namespace

Value Flatten::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  (void)ExampleSize(layer, x.shape());
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::FlattenRows(x));
}

Value Reshape::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  std::vector<int64_t> dims = FillIn(layer, shape, ExampleSize(layer, x.shape()));
  dims.insert(dims.begin(), kUnknownDim);
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::Reshape(x, Shape(dims)));
}

Value Transpose::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  std::vector<int64_t> sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = static_cast<int>(perm.size()) == x.shape().rank();
  for (size_t i = 0; i < sorted.size(); ++i) {
    is_permutation = is_permutation && sorted[i] == static_cast<int64_t>(i);
  }
  if (!is_permutation) {
    layer.Fail(
        fmt::format("perm {} is no order of the axes of {}", Shape(perm).Text(), x.shape().Text()));
  }
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::Transpose(x, perm));
}

Value Dropout::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  if (!(rate >= 0 && rate < 1)) {
    layer.Fail(fmt::format("rate is {}, expected at least 0 and below 1", rate));
  }
  if (!context.training || rate == 0) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  // Drawn in float32 whatever the precision, so that the mask does not depend on it.
  const Value uniform = ops::RandomUniform(ops::ShapeOf(x), DType::kFloat, "random_uniform");
  const Value keep =
      ops::GreaterEqual(uniform, context.graph.ScalarOf(DType::kFloat, rate, "rate"));
  const Value scaled = ops::Mul(x, 1.0 / (1.0 - rate));
  return layer.Output(ops::SelectV2(keep, scaled, context.graph.ScalarOf(x.dtype(), 0.0)));
}

Value ActivationLayer::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const NameScope nodes = layer.Nodes();
  return layer.Output(Activate(activation, x));
}

}  // namespace tpuest::nn
