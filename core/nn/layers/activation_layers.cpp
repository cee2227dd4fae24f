#include "core/nn/layers/activation_layers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/ops/activation.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/softmax.h"

namespace tpuest::nn {
namespace {

// Returns x above the threshold, otherwise 0.
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

// exp(x - log(sum(exp(x)))) over several axes, as Keras computes it.
Value SoftmaxOver(Value x, const std::vector<int64_t>& axes) {
  const Value most = ops::StopGradient(ops::Max(x, axes, true));
  const Value sum = ops::Sum(ops::Exp(ops::Sub(x, most)), axes, true);
  return ops::Exp(ops::Sub(x, ops::AddV2(ops::Log(sum), most)));
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
  return layer.Output(ops::LeakyRelu(x, static_cast<float>(negative_slope.value_or(alpha))));
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
  const Variable* const alpha = layer.AddWeight(
      "alpha", Shape(dims), alpha_initializer,
      {.trainable = trainable, .regularizer = &alpha_regularizer, .constraint = &alpha_constraint});
  const NameScope nodes = layer.Nodes();
  const Value below = ops::Mul(ops::Neg(layer.Use(alpha)), ops::Relu(ops::Neg(x)));
  return layer.Output(ops::AddV2(ops::Relu(x), below));
}

Value SoftmaxLayer::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const int64_t rank = x.shape().known_rank() ? x.shape().rank() : 0;
  const auto* const one = std::get_if<int64_t>(&axis);
  std::vector<int64_t> axes =
      one != nullptr ? std::vector<int64_t>{*one} : std::get<std::vector<int64_t>>(axis);
  if (axes.empty()) layer.Fail("axis is an empty list");
  for (int64_t& each : axes) {
    const int64_t named = each;
    if (each < 0) each += rank;
    if (each >= 1 && each < rank) continue;
    layer.Fail(
        fmt::format("its input {} has no axis {} besides the batch", x.shape().Text(), named));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) layer.Fail("an axis is repeated");
  const int64_t at = axes.front();
  const NameScope nodes = layer.Nodes();
  if (axes.size() > 1) return layer.Output(SoftmaxOver(x, axes));
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
