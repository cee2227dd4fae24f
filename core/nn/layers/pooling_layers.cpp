#include "core/nn/layers/pooling_layers.h"

#include "core/ops/pool.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
template <PoolKind kind>
Value Pooling2D<kind>::Apply(LayerContext& context, Value x) const {
  const LayerScope scope(context, name, kType, place);
  (void)scope.Channels(x, 4);
  const NameScope nodes = scope.Nodes();
  const ops::PoolOptions window{.ksize = HeightAndWidth(pool_size, "pool_size"),
                                .strides = HeightAndWidth(strides.value_or(pool_size), "strides"),
                                .padding = PaddingName(padding)};
  return scope.Output(kind == PoolKind::kMax ? ops::MaxPool(x, window) : ops::AvgPool(x, window));
}

template <PoolKind kind>
Value GlobalPooling2D<kind>::Apply(LayerContext& context, Value x) const {
  const LayerScope scope(context, name, kType, place);
  (void)scope.Channels(x, 4);
  const NameScope nodes = scope.Nodes();
  return scope.Output(kind == PoolKind::kMax ? ops::Max(x, {1, 2}) : ops::Mean(x, {1, 2}));
}

template struct Pooling2D<PoolKind::kMax>;
template struct Pooling2D<PoolKind::kAverage>;
template struct GlobalPooling2D<PoolKind::kMax>;
template struct GlobalPooling2D<PoolKind::kAverage>;

}  // namespace tpuest::nn
