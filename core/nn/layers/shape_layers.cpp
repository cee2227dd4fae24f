#include "core/nn/layers/shape_layers.h"

#include <algorithm>

#include "core/ops/array.h"

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

// Returns the dimensions of `shape`, with -1 inferred from `size`.
std::vector<int64_t> FillIn(const LayerScope& layer, std::vector<int64_t> shape, int64_t size) {
  const auto open = std::find(shape.begin(), shape.end(), -1);
  int64_t product = 1;
  for (auto dim = shape.begin(); dim != shape.end(); ++dim) {
    if (dim == open) continue;
    if (*dim < 1) layer.Fail(fmt::format("{} is not a size, or -1 occurs twice", *dim));
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

// Fails unless `order` holds each axis of the shape once.
void CheckOrder(const LayerScope& layer, const std::vector<int64_t>& order, const Shape& shape,
                std::string_view what) {
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool is_order = shape.known_rank() && static_cast<int>(order.size()) == shape.rank();
  for (size_t i = 0; i < sorted.size(); ++i) {
    is_order = is_order && sorted[i] == static_cast<int64_t>(i);
  }
  if (is_order) return;
  layer.Fail(fmt::format("{} {} is not an order of the axes of {}", what, Shape(order).Text(),
                         shape.Text()));
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
  if (target_shape.has_value() == !shape.empty()) {
    layer.Fail(shape.empty() ? "has no target_shape" : "has both target_shape and shape",
               "target_shape: [28, 28, 1], without the batch");
  }
  std::vector<int64_t> dims =
      FillIn(layer, target_shape.value_or(shape), ExampleSize(layer, x.shape()));
  dims.insert(dims.begin(), kUnknownDim);
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::Reshape(x, Shape(dims)));
}

Value Transpose::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  CheckOrder(layer, perm, x.shape(), "perm");
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::Transpose(x, perm));
}

Value Permute::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  std::vector<int64_t> perm = dims;
  perm.insert(perm.begin(), 0);
  CheckOrder(layer, perm, x.shape(), "dims, after the batch's 0,");
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::Transpose(x, perm));
}

Value RepeatVector::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  (void)layer.Channels(x, 2);
  if (n < 1) layer.Fail(fmt::format("n is {}, expected at least 1", n));
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::Tile(ops::ExpandDims(x, 1), {1, n, 1}));
}

Value Reverse::Apply(LayerContext& context, Value x) const {
  LayerScope layer(context, name, kType, place);
  const int rank = x.shape().known_rank() ? x.shape().rank() : 0;
  const int64_t reversed = axis < 0 ? axis + rank : axis;
  if (reversed < 1 || reversed >= rank) {
    layer.Fail(
        fmt::format("its input {} has no axis {} besides the batch", x.shape().Text(), axis));
  }
  const NameScope nodes = layer.Nodes();
  const auto axes = static_cast<size_t>(rank);
  ops::StridedSliceOptions slice{.begin = std::vector<int64_t>(axes, 0),
                                 .end = std::vector<int64_t>(axes, 0),
                                 .strides = std::vector<int64_t>(axes, 1)};
  slice.strides[static_cast<size_t>(reversed)] = -1;
  slice.begin_mask = (int64_t{1} << rank) - 1;
  slice.end_mask = slice.begin_mask;
  return layer.Output(ops::StridedSlice(x, slice));
}

}  // namespace tpuest::nn
