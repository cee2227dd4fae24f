#include "core/nn/layers/pooling_layers.h"

#include "core/ops/pool.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

template <class Layer>
ops::PoolOptions PoolWindowOf(const Layer& layer) {
  return {.ksize = HeightAndWidth(layer.pool_size, "pool_size"),
          .strides = HeightAndWidth(layer.strides.value_or(layer.pool_size), "strides"),
          .padding = PaddingName(layer.padding)};
}

using Pool = Value (*)(Value, const ops::PoolOptions&, std::string_view);
using Reduce = Value (*)(Value, const std::vector<int64_t>&, bool, std::string_view);

template <class Layer>
Value ApplyPool(const Layer& layer, LayerContext& context, Value x, Pool pool) {
  const LayerScope scope(context, layer.name, Layer::kType, layer.place);
  (void)scope.Channels(x, 4);
  const NameScope nodes = scope.Nodes();
  return scope.Output(pool(x, PoolWindowOf(layer), ""));
}

template <class Layer>
Value ApplyGlobalPool(const Layer& layer, LayerContext& context, Value x, Reduce reduce) {
  const LayerScope scope(context, layer.name, Layer::kType, layer.place);
  (void)scope.Channels(x, 4);
  const NameScope nodes = scope.Nodes();
  return scope.Output(reduce(x, {1, 2}, false, ""));
}

}  // namespace

Value MaxPooling2D::Apply(LayerContext& context, Value x) const {
  return ApplyPool(*this, context, x, ops::MaxPool);
}

Value AveragePooling2D::Apply(LayerContext& context, Value x) const {
  return ApplyPool(*this, context, x, ops::AvgPool);
}

Value GlobalAveragePooling2D::Apply(LayerContext& context, Value x) const {
  return ApplyGlobalPool(*this, context, x, ops::Mean);
}

Value GlobalMaxPooling2D::Apply(LayerContext& context, Value x) const {
  return ApplyGlobalPool(*this, context, x, ops::Max);
}

}  // namespace tpuest::nn
