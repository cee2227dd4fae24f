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

}  // namespace

template <PoolKind kind, int axes>
Value Pooling<kind, axes>::Apply(LayerContext& context, Value x) const {
  const LayerScope scope(context, name, kType, place);
  (void)scope.Channels(x, axes + 2);
  const NameScope nodes = scope.Nodes();
  const ops::PoolOptions window{
      .ksize = WindowSides(pool_size, axes, "pool_size"),
      .strides = WindowSides(strides.value_or(pool_size), axes, "strides"),
      .padding = PaddingName(padding)};
  const Value image = axes == 1 ? ops::ExpandDims(x, 1) : x;
  const Value y =
      kind == PoolKind::kMax ? ops::MaxPool(image, window) : ops::AvgPool(image, window);
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
template struct GlobalPooling<PoolKind::kMax, 1>;
template struct GlobalPooling<PoolKind::kAverage, 1>;
template struct GlobalPooling<PoolKind::kMax, 2>;
template struct GlobalPooling<PoolKind::kAverage, 2>;
template struct GlobalPooling<PoolKind::kMax, 3>;
template struct GlobalPooling<PoolKind::kAverage, 3>;

}  // namespace tpuest::nn
