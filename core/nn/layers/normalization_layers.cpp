#include "core/nn/layers/normalization_layers.h"

#include <algorithm>
#include <numeric>
#include <utility>

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
      layer.Fail(fmt::format("its input {} has no axis {} besides the batch", shape.Text(), named));
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

// The variables gamma and beta of a normalization, if it has them.
template <class Layer>
Affine AddAffine(const Layer& options, LayerScope& layer, const Shape& shape) {
  Affine affine;
  if (options.scale) {
    affine.gamma = layer.AddWeight("gamma", shape, options.gamma_initializer,
                                   {.trainable = options.trainable,
                                    .regularizer = &options.gamma_regularizer,
                                    .constraint = &options.gamma_constraint});
  }
  if (options.center) {
    affine.beta = layer.AddWeight("beta", shape, options.beta_initializer,
                                  {.trainable = options.trainable,
                                   .regularizer = &options.beta_regularizer,
                                   .constraint = &options.beta_constraint});
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

// The number or the numbers as a constant: float32 [] or [channels], the places on an axis of x.
Value ConstantOf(const LayerScope& layer, Value x, const PerChannel& given, std::string_view name,
                 int axis = -1) {
  Graph& graph = x.graph();
  if (const auto* const one = std::get_if<double>(&given)) {
    return graph.ScalarOf(DType::kFloat, *one, name);
  }
  const auto& all = std::get<std::vector<double>>(given);
  const int64_t channels = layer.Dimension(x, axis);
  if (static_cast<int64_t>(all.size()) != channels) {
    layer.Fail(fmt::format("{} has {} numbers, but its input has {} channels", name, all.size(),
                           channels));
  }
  return graph.Constant(
      Tensor::Of<float>(Shape{channels}, std::vector<float>(all.begin(), all.end())), name);
}

// Returns the shape with x's dimensions on some axes and 1 on all others.
Shape Spread(const LayerScope& layer, Value x, const std::vector<int64_t>& axes) {
  std::vector<int64_t> dims(static_cast<size_t>(x.shape().rank()), 1);
  for (const int64_t axis : axes) {
    dims[static_cast<size_t>(axis)] = layer.Dimension(x, static_cast<int>(axis));
  }
  return Shape(dims);
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

Value GroupNormalization::Apply(LayerContext& context, Value given) const {
  LayerScope layer(context, name, kType, place);
  if (!given.shape().known_rank() || given.shape().rank() < 2) {
    layer.Fail(fmt::format("takes an input [batch, ..., channels], got {}", given.shape().Text()));
  }
  const auto at = static_cast<size_t>(AxesOf(layer, axis, given.shape()).front());
  const int64_t channels = layer.Dimension(given, static_cast<int>(at));
  const int64_t count = groups == -1 ? channels : groups;
  if (count < 1 || channels % count != 0) {
    layer.Fail(fmt::format("{} channels cannot be split into {} groups", channels, count));
  }
  const Affine affine = AddAffine(*this, layer, Shape{channels});
  std::vector<int64_t> perm(static_cast<size_t>(given.shape().rank()));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[at], perm.back());
  const bool is_last = at + 1 == perm.size();
  const NameScope nodes = layer.Nodes();
  const Value x = is_last ? given : ops::Transpose(given, perm);
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
  const Value y =
      Standardized(ops::Reshape(ops::Cast(x, DType::kFloat), Shape(grouped)), axes, epsilon);
  const Value back = Applied(affine, ops::Reshape(y, Shape(whole)), Shape{channels});
  const Value result = ops::Cast(back, x.dtype());
  return layer.Output(is_last ? result : ops::Transpose(result, perm));
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
  if (mean.has_value() != variance.has_value())
    layer.Fail("needs both mean and variance, or neither");
  const std::vector<int64_t> axes = axis ? AxesOf(layer, *axis, x.shape()) : std::vector<int64_t>();
  const bool is_last = axes.size() == 1 && axes.front() == x.shape().rank() - 1;
  Value centre;
  Value spread;
  Shape broadcast;  // of mean and variance, unless they meet x from the right
  if (mean) {
    const int last = axes.empty() ? -1 : static_cast<int>(axes.back());
    if (axes.empty() && (mean->index() != 0 || variance->index() != 0)) {
      layer.Fail("axis: null means one mean and one variance, but they are lists");
    }
    centre = ConstantOf(layer, x, *mean, "mean", last);
    spread = ConstantOf(layer, x, *variance, "variance", last);
    if (!axes.empty() && !is_last) broadcast = Spread(layer, x, {axes.back()});
  } else {
    std::vector<int64_t> dims;
    for (const int64_t at : axes) dims.push_back(layer.Dimension(x, static_cast<int>(at)));
    const Shape shape(dims);
    centre = layer.AddWeight("mean", shape, ZerosInitializer{}, {.trainable = false})->value;
    spread = layer.AddWeight("variance", shape, OnesInitializer{}, {.trainable = false})->value;
    (void)layer.AddWeight("count", Shape{}, ZerosInitializer{},
                          {.trainable = false, .dtype = DType::kInt64});
    if (!axes.empty() && !is_last) broadcast = Spread(layer, x, axes);
  }
  const NameScope nodes = layer.Nodes();
  if (broadcast.rank() > 0) {
    if (centre.shape().rank() > 0) centre = ops::Reshape(centre, broadcast);
    if (spread.shape().rank() > 0) spread = ops::Reshape(spread, broadcast);
  }
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
