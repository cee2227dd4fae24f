#include "core/nn/layers/normalization_layers.h"

#include <algorithm>

#include "core/nn/layers/unit_length.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

// The axes, counted from the front and in order. Fails for the batch's, and for what is none.
std::vector<int64_t> AxesOf(const LayerScope& layer, const Axes& given, const Shape& shape) {
  const auto* const one = std::get_if<int64_t>(&given);
  std::vector<int64_t> axes =
      one != nullptr ? std::vector<int64_t>{*one} : std::get<std::vector<int64_t>>(given);
  const int64_t rank = shape.known_rank() ? shape.rank() : 0;
  for (int64_t& axis : axes) {
    const int64_t named = axis;
    if (axis < 0) axis += rank;
    if (axis < 1 || axis >= rank) {
      layer.Fail(fmt::format("its input {} has no axis {} beside the batch", shape.Text(), named));
    }
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) layer.Fail("an axis is repeated");
  return axes;
}

// x over the axes with mean 0 and variance 1, in float32.
Value Standardized(Value x, const std::vector<int64_t>& axes, double epsilon) {
  const Value mean = ops::Mean(x, axes, true);
  const Value variance = ops::Mean(ops::SquaredDifference(x, mean), axes, true);
  return ops::Mul(ops::Sub(x, mean), ops::Rsqrt(ops::AddV2(variance, epsilon)));
}

struct Affine {
  const Variable* gamma = nullptr;
  const Variable* beta = nullptr;
};

// The variables gamma and beta of a normalization, where it has them.
template <class Layer>
Affine AddAffine(const Layer& options, LayerScope& layer, const Shape& shape) {
  Affine affine;
  if (options.scale) {
    affine.gamma = layer.AddWeight(
        "gamma", shape, options.gamma_initializer,
        {.trainable = options.trainable, .regularizer = &options.gamma_regularizer});
  }
  if (options.center) {
    affine.beta =
        layer.AddWeight("beta", shape, options.beta_initializer,
                        {.trainable = options.trainable, .regularizer = &options.beta_regularizer});
  }
  return affine;
}

// y gamma + beta, both of the shape `broadcast`.
Value Applied(const Affine& affine, Value y, const Shape& broadcast) {
  const auto spread = [&](const Variable* v) { return ops::Reshape(v->value, broadcast); };
  if (affine.gamma != nullptr) y = ops::Mul(y, spread(affine.gamma));
  if (affine.beta != nullptr) y = ops::AddV2(y, spread(affine.beta));
  return y;
}

// The number or the numbers as a constant: float32 [] or [channels].
Value ConstantOf(const LayerScope& layer, Value x, const PerChannel& given, std::string_view name) {
  Graph& graph = x.graph();
  if (const auto* const one = std::get_if<double>(&given)) {
    return graph.ScalarOf(DType::kFloat, *one, name);
  }
  const auto& all = std::get<std::vector<double>>(given);
  const int64_t channels = layer.Dimension(x, -1);
  if (static_cast<int64_t>(all.size()) != channels) {
    layer.Fail(fmt::format("{} has {} numbers, its input {} channels", name, all.size(), channels));
  }
  return graph.Constant(
      Tensor::Of<float>(Shape{channels}, std::vector<float>(all.begin(), all.end())), name);
}

}  // namespace

Value LayerNormalization::Apply(LayerContext& context, Value x) const {
  LayerScope layer(context, name, kType, place);
  const std::vector<int64_t> axes = AxesOf(layer, axis, x.shape());
  std::vector<int64_t> dims;
  std::vector<int64_t> broadcast(static_cast<size_t>(x.shape().rank()), 1);
  for (const int64_t at : axes) {
    dims.push_back(layer.Dimension(x, static_cast<int>(at)));
    broadcast[static_cast<size_t>(at)] = dims.back();
  }
  const Affine affine = AddAffine(*this, layer, Shape(dims));
  const NameScope nodes = layer.Nodes();
  const Value y = Standardized(ops::Cast(x, DType::kFloat), axes, epsilon);
  return layer.Output(ops::Cast(Applied(affine, y, Shape(broadcast)), x.dtype()));
}

Value GroupNormalization::Apply(LayerContext& context, Value x) const {
  LayerScope layer(context, name, kType, place);
  if (!x.shape().known_rank() || x.shape().rank() < 2) {
    layer.Fail(fmt::format("takes an input [batch, ..., channels], got {}", x.shape().Text()));
  }
  const int64_t channels = layer.Dimension(x, -1);
  const int64_t count = groups == -1 ? channels : groups;
  if (count < 1 || channels % count != 0) {
    layer.Fail(fmt::format("{} channels do not make {} groups", channels, count));
  }
  const Affine affine = AddAffine(*this, layer, Shape{channels});
  std::vector<int64_t> grouped = {kUnknownDim};
  std::vector<int64_t> whole = {kUnknownDim};
  for (int at = 1; at + 1 < x.shape().rank(); ++at) {
    grouped.push_back(layer.Dimension(x, at));
    whole.push_back(grouped.back());
  }
  grouped.insert(grouped.end(), {count, channels / count});
  whole.push_back(channels);
  std::vector<int64_t> axes;
  for (int64_t at = 1; at < static_cast<int64_t>(grouped.size()); ++at) {
    if (at != static_cast<int64_t>(grouped.size()) - 2) axes.push_back(at);
  }
  const NameScope nodes = layer.Nodes();
  const Value y =
      Standardized(ops::Reshape(ops::Cast(x, DType::kFloat), Shape(grouped)), axes, epsilon);
  const Value back = Applied(affine, ops::Reshape(y, Shape(whole)), Shape{channels});
  return layer.Output(ops::Cast(back, x.dtype()));
}

Value UnitNormalization::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const std::vector<int64_t> axes = AxesOf(layer, axis, x.shape());
  const NameScope nodes = layer.Nodes();
  return layer.Output(UnitLength(x, axes));
}

Value Normalization::Apply(LayerContext& context, Value x) const {
  constexpr double kSmallest = 1e-7;
  LayerScope layer(context, name, kType, place);
  if (mean.has_value() != variance.has_value()) layer.Fail("has mean or variance alone");
  Value centre;
  Value spread;
  if (mean) {
    centre = ConstantOf(layer, x, *mean, "mean");
    spread = ConstantOf(layer, x, *variance, "variance");
  } else {
    const Shape channels{layer.Dimension(x, -1)};
    centre = layer.AddWeight("mean", channels, ZerosInitializer{}, {.trainable = false})->value;
    spread = layer.AddWeight("variance", channels, OnesInitializer{}, {.trainable = false})->value;
    (void)layer.AddWeight("count", Shape{}, ZerosInitializer{},
                          {.trainable = false, .dtype = DType::kInt64});
  }
  const NameScope nodes = layer.Nodes();
  const DType dtype = x.dtype();
  const Value deviation = ops::Cast(ops::Maximum(ops::Sqrt(spread), kSmallest), dtype);
  const Value middle = ops::Cast(centre, dtype);
  return layer.Output(invert ? ops::AddV2(middle, ops::Mul(x, deviation))
                             : ops::RealDiv(ops::Sub(x, middle), deviation));
}

Value LayerScale::Apply(LayerContext& context, Value x) const {
  LayerScope layer(context, name, kType, place);
  const Variable* const gamma =
      layer.AddWeight("gamma", Shape{layer.Dimension(x, -1)},
                      ConstantInitializer{.value = init_values}, {.trainable = trainable});
  const NameScope nodes = layer.Nodes();
  return layer.Output(ops::Mul(x, layer.Use(gamma)));
}

Value Rescaling::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const NameScope nodes = layer.Nodes();
  const Value factor = ops::Cast(ConstantOf(layer, x, scale, "scale"), x.dtype());
  const Value added = ops::Cast(ConstantOf(layer, x, offset, "offset"), x.dtype());
  return layer.Output(ops::AddV2(ops::Mul(x, factor), added));
}

}  // namespace tpuest::nn
