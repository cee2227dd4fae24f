#include "core/nn/layers/activation_layers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/ops/activation.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/softmax.h"

namespace tpuest::nn {
namespace {

// x above the threshold, else 0.
Value Above(Value x, double threshold) {
  const Value kept = ops::Greater(x, x.graph().ScalarOf(x.dtype(), threshold));
  return ops::Mul(x, ops::Cast(kept, x.dtype()));
}

Value Bounded(Value x, const ReLU& relu) {
  constexpr double kSix = 6;
  if (relu.threshold == 0 && relu.max_value == kSix) return ops::Relu6(x);
  const Value positive = relu.threshold != 0 ? Above(x, relu.threshold) : ops::Relu(x);
  return relu.max_value ? ops::ClipByValue(positive, 0.0, *relu.max_value) : positive;
}

void CheckNotNegative(const LayerScope& layer, double value, std::string_view what) {
  if (!(value >= 0)) layer.Fail(fmt::format("{} is {}, expected at least 0", what, value));
}

}  // namespace

Value ActivationLayer::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const NameScope nodes = layer.Nodes();
  return layer.Output(Activate(activation, x));
}

Value ReLU::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  CheckNotNegative(layer, negative_slope, "negative_slope");
  CheckNotNegative(layer, threshold, "threshold");
  if (max_value) CheckNotNegative(layer, *max_value, "max_value");
  const NameScope nodes = layer.Nodes();
  const Value y = Bounded(x, *this);
  if (negative_slope == 0) return layer.Output(y);
  const Value below = ops::Relu(threshold != 0 ? ops::Sub(threshold, x) : ops::Neg(x));
  return layer.Output(ops::Sub(y, ops::Mul(below, negative_slope)));
}

Value LeakyReLU::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::LeakyRelu(x, static_cast<float>(alpha)));
}

Value ELU::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const NameScope nodes = layer.Nodes();
  const Value y = ops::Elu(x);
  if (alpha == 1) return layer.Output(y);
  const Value positive = ops::Greater(x, x.graph().ScalarOf(x.dtype(), 0.0));
  return layer.Output(ops::SelectV2(positive, y, ops::Mul(y, alpha)));
}

Value PReLU::Apply(LayerContext& context, Value x) const {
  LayerScope layer(context, name, kType, place);
  std::vector<int64_t> dims;
  for (int axis = 1; axis < x.shape().rank(); ++axis) {
    const bool is_shared =
        std::find(shared_axes.begin(), shared_axes.end(), axis) != shared_axes.end();
    dims.push_back(is_shared ? 1 : layer.Dimension(x, axis));
  }
  const Variable* const alpha =
      layer.AddWeight("alpha", Shape(dims), alpha_initializer,
                      {.trainable = trainable, .regularizer = &alpha_regularizer});
  const NameScope nodes = layer.Nodes();
  const Value below = ops::Mul(ops::Neg(layer.Use(alpha)), ops::Relu(ops::Neg(x)));
  return layer.Output(ops::AddV2(ops::Relu(x), below));
}

Value SoftmaxLayer::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const int64_t rank = x.shape().known_rank() ? x.shape().rank() : 0;
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 1 || at >= rank) {
    layer.Fail(fmt::format("its input {} has no axis {} beside the batch", x.shape().Text(), axis));
  }
  const NameScope nodes = layer.Nodes();
  if (at == rank - 1) return layer.Output(ops::Softmax(x));
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(at)], perm.back());
  return layer.Output(ops::Transpose(ops::Softmax(ops::Transpose(x, perm)), perm));
}

Value ThresholdedReLU::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  CheckNotNegative(layer, theta, "theta");
  const NameScope nodes = layer.Nodes();
  return layer.Output(Above(x, theta));
}

}  // namespace tpuest::nn
