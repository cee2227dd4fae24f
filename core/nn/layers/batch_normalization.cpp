#include "core/nn/layers/batch_normalization.h"

#include <numeric>
#include <utility>

#include "core/ops/array.h"
#include "core/ops/batch_norm.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

struct Moments {
  Value mean;      // float32 [channels]
  Value variance;  // float32 [channels]
};

// The inputs of one application; gamma and beta float32 [channels].
struct Normalizing {
  Value x;
  Value gamma;
  Value beta;
  Moments moving;
  double epsilon;
};

struct Normalized {
  Value y;
  Moments batch;  // in training: what the moving averages follow
  Value rows;     // float32 [], the examples in `batch`; not valid(): every row of x is one
};

Normalized NormalizeImage(const Normalizing& n, bool training) {
  Graph& graph = n.x.graph();
  const Value none = training ? ops::Zeros(graph, DType::kFloat, Shape{0}, "empty") : Value{};
  const ops::BatchNormResult result = ops::FusedBatchNormV3(
      n.x, n.gamma, n.beta, training ? none : n.moving.mean, training ? none : n.moving.variance,
      {.epsilon = static_cast<float>(n.epsilon), .is_training = training});
  return {result.y, {result.batch_mean, result.batch_variance}, {}};
}

// The mean and biased variance over all axes but the last, in float32.
Moments MomentsOf(Value x) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis < x.shape().rank() - 1; ++axis) axes.push_back(axis);
  const Value wide = ops::Cast(x, DType::kFloat);
  const Value mean = ops::Mean(wide, axes);
  return {mean, ops::Mean(ops::SquaredDifference(wide, mean), axes)};
}

// y = x * (gamma / sqrt(variance + epsilon)) + (beta - mean * that).
Value Scaled(const Normalizing& n, const Moments& used) {
  const Value factor = ops::Mul(ops::Rsqrt(ops::AddV2(used.variance, n.epsilon)), n.gamma);
  const Value offset = ops::Sub(n.beta, ops::Mul(used.mean, factor));
  const DType dtype = n.x.dtype();
  return ops::AddV2(ops::Mul(n.x, ops::Cast(factor, dtype)), ops::Cast(offset, dtype));
}

// Normalizes without the fused op.
Normalized NormalizeAny(const Normalizing& n, bool training) {
  const Moments used = training ? MomentsOf(n.x) : n.moving;
  return {Scaled(n, used), used, {}};
}

// Normalizes a batch in training by the moments of its examples, which `weight` [B] marks. The
// moments of a replica without examples are 0. Images follow the unbiased variance, as in the fused
// op.
Normalized NormalizeExamples(const Normalizing& n, Value weight) {
  std::vector<int64_t> axes;
  Value weights = weight;
  for (int axis = 0; axis < n.x.shape().rank() - 1; ++axis) axes.push_back(axis);
  for (int axis = 1; axis < n.x.shape().rank(); ++axis) weights = ops::ExpandDims(weights, -1);
  const Value wide = ops::Cast(n.x, DType::kFloat);
  const Value count = ops::Maximum(ops::Sum(ops::Mul(ops::OnesLike(wide), weights), axes), 1.0);
  const Value mean = ops::RealDiv(ops::Sum(ops::Mul(wide, weights), axes), count);
  const Value squares = ops::Mul(ops::SquaredDifference(wide, mean), weights);
  const Moments used{mean, ops::RealDiv(ops::Sum(squares, axes), count)};
  Moments followed = used;
  if (n.x.shape().rank() == 4) {
    const Value others = ops::Maximum(ops::Sub(count, 1.0), 1.0);
    followed.variance = ops::Mul(used.variance, ops::RealDiv(count, others));
  }
  return {Scaled(n, used), followed, ops::Sum(weight)};
}

// Normalizes in training by the moments of all replicas' examples; the rows of x are all examples
// where there is no weight.
Normalized NormalizeTogether(const Normalizing& n, Value weight, int replicas) {
  std::vector<int64_t> axes;
  for (int axis = 0; axis < n.x.shape().rank() - 1; ++axis) axes.push_back(axis);
  const Value wide = ops::Cast(n.x, DType::kFloat);
  Value weights = ops::OnesLike(wide);
  if (weight.valid()) {
    Value each = weight;
    for (int axis = 1; axis < n.x.shape().rank(); ++axis) each = ops::ExpandDims(each, -1);
    weights = ops::Mul(weights, each);
  }
  const auto over_all = [&](Value x) {
    const Value own = ops::Sum(x, axes);
    return replicas > 1 ? ops::CrossReplicaSum(own, replicas) : own;
  };
  const Value count = over_all(weights);
  const Value mean = ops::RealDiv(over_all(ops::Mul(wide, weights)), count);
  const Value squares = ops::RealDiv(over_all(ops::Mul(ops::Square(wide), weights)), count);
  const Moments used{mean, ops::Sub(squares, ops::Square(mean))};
  return {Scaled(n, used), used, {}};
}

// The axis of the channels, from 0. Fails for the batch's, and for several.
int64_t ChannelAxis(const LayerScope& layer, const BatchNormalization& options, int64_t rank) {
  const auto* const list = std::get_if<std::vector<int64_t>>(&options.axis);
  if (list != nullptr && list->size() != 1) {
    layer.Fail("axis names several axes, expected one", "axis: -1, the last one");
  }
  const int64_t named = list != nullptr ? list->front() : std::get<int64_t>(options.axis);
  const int64_t axis = named < 0 ? named + rank : named;
  if (axis < 1 || axis >= rank) {
    layer.Fail(fmt::format("its input has no axis {} besides the batch", named));
  }
  return axis;
}

// `rows` as Normalized has it: a replica's part in the mean over replicas.
void Follow(LayerContext& context, const Variable* moving, Value batch, Value rows,
            double momentum) {
  Value statistic = batch;
  if (context.replicas > 1 && rows.valid()) {
    const Value sum = ops::CrossReplicaSum(ops::Mul(batch, rows), context.replicas);
    statistic = ops::RealDiv(sum, ops::CrossReplicaSum(rows, context.replicas));
  } else if (context.replicas > 1) {
    statistic = ops::Mul(ops::CrossReplicaSum(batch, context.replicas), 1.0 / context.replicas);
  }
  const Value delta = ops::Mul(ops::Sub(moving->value, statistic), 1.0 - momentum);
  context.updates.push_back(ops::AssignSubVariableOp(moving->handle, delta, "AssignMovingAvg"));
}

}  // namespace

Value BatchNormalization::Apply(LayerContext& context, Value given) const {
  LayerScope layer(context, name, kType, place);
  if (!given.shape().known_rank() || given.shape().rank() < 2) {
    layer.Fail(fmt::format("takes an input [batch, ..., channels], got {}", given.shape().Text()));
  }
  const int64_t rank = given.shape().rank();
  const int64_t at = ChannelAxis(layer, *this, rank);
  const Shape channels{layer.Dimension(given, static_cast<int>(at))};
  const Variable* const gamma = scale ? layer.AddWeight("gamma", channels, gamma_initializer,
                                                        {.trainable = trainable,
                                                         .regularizer = &gamma_regularizer,
                                                         .constraint = &gamma_constraint})
                                      : nullptr;
  const Variable* const beta = center ? layer.AddWeight("beta", channels, beta_initializer,
                                                        {.trainable = trainable,
                                                         .regularizer = &beta_regularizer,
                                                         .constraint = &beta_constraint})
                                      : nullptr;
  const Variable* const mean =
      layer.AddWeight("moving_mean", channels, moving_mean_initializer, {.trainable = false});
  const Variable* const variance = layer.AddWeight(
      "moving_variance", channels, moving_variance_initializer, {.trainable = false});
  const bool frozen =
      !trainable || context.frozen || !context.trainable.Match(layer.name() + "/gamma");
  const bool training = context.training && !frozen;

  const NameScope nodes = layer.Nodes();
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  std::swap(perm[static_cast<size_t>(at)], perm.back());
  const bool is_last = at == rank - 1;
  const Value x = is_last ? given : ops::Transpose(given, perm);
  // Keras' fused op, which follows the unbiased variance, has the channels first or last.
  const bool is_image = rank == 4 && at != 2;
  const Normalizing normalization{
      .x = x,
      .gamma = gamma != nullptr ? gamma->value : ops::Ones(context.graph, DType::kFloat, channels),
      .beta = beta != nullptr ? beta->value : ops::Zeros(context.graph, DType::kFloat, channels),
      .moving = {mean->value, variance->value},
      .epsilon = epsilon};
  const Normalized result =
      training && synchronized
          ? NormalizeTogether(normalization, context.example_weight, context.replicas)
      : training && context.example_weight.valid()
          ? NormalizeExamples(normalization, context.example_weight)
      : is_image ? NormalizeImage(normalization, training)
                 : NormalizeAny(normalization, training);
  if (training) {
    Follow(context, mean, result.batch.mean, result.rows, momentum);
    Follow(context, variance, result.batch.variance, result.rows, momentum);
  }
  return layer.Output(is_last ? result.y : ops::Transpose(result.y, perm));
}

}  // namespace tpuest::nn
