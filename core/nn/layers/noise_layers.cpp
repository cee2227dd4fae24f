#include "core/nn/layers/noise_layers.h"

#include <cmath>

#include "core/nn/layers/draw.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

void CheckRate(const LayerScope& layer, double rate, std::string_view what = "rate") {
  if (!(rate >= 0 && rate < 1)) {
    layer.Fail(fmt::format("{} is {}, expected at least 0 and below 1", what, rate));
  }
}

// The first element of x along each axis that is named.
Value OneAlong(Value x, const std::vector<int64_t>& axes) {
  const auto rank = static_cast<size_t>(x.shape().rank());
  std::vector<int64_t> size(rank, -1);
  for (const int64_t axis : axes) size[static_cast<size_t>(axis)] = 1;
  return ops::Slice(x, std::vector<int64_t>(rank, 0), size);
}

// The elements that stay, bool of x's shape but 1 along `axes`. Drawn in float32 whatever the
// precision, so that the mask does not depend on it.
Value Kept(Value x, double rate, const std::vector<int64_t>& axes, const Seed& seed) {
  const Value uniform = DrawUniform(axes.empty() ? x : OneAlong(x, axes), seed);
  return ops::GreaterEqual(uniform, x.graph().ScalarOf(DType::kFloat, rate, "rate"));
}

Value Dropped(Value x, double rate, const std::vector<int64_t>& axes, const Seed& seed) {
  const Value keep = Kept(x, rate, axes, seed);
  const Value scaled = ops::Mul(x, 1.0 / (1.0 - rate));
  return ops::SelectV2(keep, scaled, x.graph().ScalarOf(x.dtype(), 0.0));
}

Value Normals(Value x, const Seed& seed) { return ops::Cast(DrawNormal(x, seed), x.dtype()); }

// The axes of 1 in a noise_shape.
std::vector<int64_t> SharedAxes(const LayerScope& layer, const Shape& shape,
                                const std::vector<std::optional<int64_t>>& noise_shape) {
  if (noise_shape.empty()) return {};
  const auto rank = static_cast<int64_t>(noise_shape.size());
  if (!shape.known_rank() || shape.rank() != rank) {
    layer.Fail(fmt::format("noise_shape has {} axes, but its input has {}", rank, shape.Text()));
  }
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const std::optional<int64_t>& size = noise_shape[static_cast<size_t>(axis)];
    if (!size || *size == shape.dim(static_cast<int>(axis))) continue;
    if (*size != 1) {
      layer.Fail(fmt::format("noise_shape is {} on axis {}, expected 1 or null", *size, axis));
    }
    axes.push_back(axis);
  }
  return axes;
}

}  // namespace

Value Dropout::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  CheckRate(layer, rate);
  const std::vector<int64_t> axes = SharedAxes(layer, x.shape(), noise_shape);
  if (!context.training || rate == 0) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  return layer.Output(Dropped(x, rate, axes, seed));
}

template <int axes>
Value SpatialDropout<axes>::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  CheckRate(layer, rate);
  (void)layer.Channels(x, axes + 2);
  if (!context.training || rate == 0) return layer.Output(x);
  std::vector<int64_t> between;
  for (int64_t axis = 1; axis <= axes; ++axis) between.push_back(axis);
  const NameScope nodes = layer.Nodes();
  return layer.Output(Dropped(x, rate, between, seed));
}

template struct SpatialDropout<1>;
template struct SpatialDropout<2>;
template struct SpatialDropout<3>;

Value StochasticDepth::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  CheckRate(layer, drop_path_rate, "drop_path_rate");
  if (!x.shape().known_rank() || x.shape().rank() < 1) {
    layer.Fail(fmt::format("takes an input [batch, ...], got {}", x.shape().Text()));
  }
  if (!context.training || drop_path_rate == 0) return layer.Output(x);
  std::vector<int64_t> of_example;
  for (int64_t axis = 1; axis < x.shape().rank(); ++axis) of_example.push_back(axis);
  const NameScope nodes = layer.Nodes();
  return layer.Output(Dropped(x, drop_path_rate, of_example, seed));
}

Value GaussianNoise::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  if (!(stddev >= 0)) layer.Fail(fmt::format("stddev is {}, expected at least 0", stddev));
  if (!context.training || stddev == 0) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::AddV2(x, ops::Mul(Normals(x, seed), stddev)));
}

Value GaussianDropout::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  CheckRate(layer, rate);
  if (!context.training || rate == 0) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  const double stddev = std::sqrt(rate / (1 - rate));
  return layer.Output(ops::Mul(x, ops::AddV2(ops::Mul(Normals(x, seed), stddev), 1.0)));
}

Value AlphaDropout::Apply(LayerContext& context, Value x) const {
  constexpr double kLowest = -1.7580993408473766;  // selu far below 0
  const LayerScope layer(context, name, kType, place);
  CheckRate(layer, rate);
  const std::vector<int64_t> axes = SharedAxes(layer, x.shape(), noise_shape);
  if (!context.training || rate == 0) return layer.Output(x);
  const NameScope nodes = layer.Nodes();
  const double scale = 1 / std::sqrt((1 - rate) * (1 + rate * kLowest * kLowest));
  const Value kept =
      ops::SelectV2(Kept(x, rate, axes, seed), x, x.graph().ScalarOf(x.dtype(), kLowest));
  return layer.Output(ops::AddV2(ops::Mul(kept, scale), -scale * kLowest * rate));
}

Value ActivityRegularization::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const NameScope nodes = layer.Nodes();
  // Each factor is a loss of its own.
  if (l1 != 0) AddActivityPenalty(context, L1Regularizer{l1}, x);
  if (l2 != 0) AddActivityPenalty(context, L2Regularizer{l2}, x);
  return layer.Output(x);
}

}  // namespace tpuest::nn
