#include "core/nn/layers/pooling_layers.h"

#include "core/ops/array.h"
#include "core/ops/pool.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

// Height and width of a window over one axis or two.
std::vector<int64_t> WindowSides(const Sides& sides, int axes, std::string_view what) {
  return axes == 1 ? std::vector<int64_t>{1, OneSide(sides, what)} : HeightAndWidth(sides, what);
}

Value PooledImage(PoolKind kind, Value image, const ops::PoolOptions& window) {
  return kind == PoolKind::kMax ? ops::MaxPool(image, window) : ops::AvgPool(image, window);
}

// Pooling of [N, D, H, W, C] over height and width with the slices as channels, then over the
// depth. Of equal maxima the first in the order of depth, height and width gets the gradient.
Value PooledVolume(const LayerScope& scope, PoolKind kind, Value x,
                   const std::vector<int64_t>& size, const std::vector<int64_t>& strides,
                   const std::string& padding) {
  const int64_t depth = scope.Dimension(x, 1), channels = scope.Dimension(x, 4);
  const int64_t height = scope.Dimension(x, 2), width = scope.Dimension(x, 3);
  const Value slices = ops::Reshape(ops::Transpose(x, {0, 2, 3, 1, 4}),
                                    Shape{kUnknownDim, height, width, depth * channels});
  const Value flat = PooledImage(
      kind, slices,
      {.ksize = {size[1], size[2]}, .strides = {strides[1], strides[2]}, .padding = padding});
  const int64_t rows = flat.shape().dim(1), columns = flat.shape().dim(2);
  const Value deep =
      PooledImage(kind, ops::Reshape(flat, Shape{kUnknownDim, rows * columns, depth, channels}),
                  {.ksize = {1, size[0]}, .strides = {1, strides[0]}, .padding = padding});
  const Value y =
      ops::Reshape(deep, Shape{kUnknownDim, rows, columns, deep.shape().dim(2), channels});
  return ops::Transpose(y, {0, 3, 1, 2, 4});
}

}  // namespace

template <PoolKind kind, int axes>
Value Pooling<kind, axes>::Apply(LayerContext& context, Value x) const {
  const LayerScope scope(context, name, kType, place);
  (void)scope.Channels(x, axes + 2);
  const NameScope nodes = scope.Nodes();
  if constexpr (axes == 3) {
    return scope.Output(PooledVolume(scope, kind, x, DepthHeightWidth(pool_size, "pool_size"),
                                     DepthHeightWidth(strides.value_or(pool_size), "strides"),
                                     PaddingName(padding)));
  }
  const ops::PoolOptions window{
      .ksize = WindowSides(pool_size, axes, "pool_size"),
      .strides = WindowSides(strides.value_or(pool_size), axes, "strides"),
      .padding = PaddingName(padding)};
  const Value image = axes == 1 ? ops::ExpandDims(x, 1) : x;
  const Value y = PooledImage(kind, image, window);
  return scope.Output(axes == 1 ? ops::Squeeze(y, {1}) : y);
}

template <PoolKind kind, int axes>
Value GlobalPooling<kind, axes>::Apply(LayerContext& context, Value x) const {
  const LayerScope scope(context, name, kType, place);
  (void)scope.Channels(x, axes + 2);
  std::vector<int64_t> between;
  for (int64_t axis = 1; axis <= axes; ++axis) between.push_back(axis);
  const NameScope nodes = scope.Nodes();
  return scope.Output(kind == PoolKind::kMax ? ops::Max(x, between, keepdims)
                                             : ops::Mean(x, between, keepdims));
}

template struct Pooling<PoolKind::kMax, 1>;
template struct Pooling<PoolKind::kAverage, 1>;
template struct Pooling<PoolKind::kMax, 2>;
template struct Pooling<PoolKind::kAverage, 2>;
template struct Pooling<PoolKind::kMax, 3>;
template struct Pooling<PoolKind::kAverage, 3>;
template struct GlobalPooling<PoolKind::kMax, 1>;
template struct GlobalPooling<PoolKind::kAverage, 1>;
template struct GlobalPooling<PoolKind::kMax, 2>;
template struct GlobalPooling<PoolKind::kAverage, 2>;
template struct GlobalPooling<PoolKind::kMax, 3>;
template struct GlobalPooling<PoolKind::kAverage, 3>;

}  // namespace tpuest::nn
