#include "core/nn/losses.h"

#include <algorithm>
#include <cctype>
#include <numbers>

#include "core/base/error.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/softmax.h"

namespace tpuest::nn {
namespace {

// A tensor of 1 wherever `losses` has an element: weights [B, 1] times it count each element.
Value Ones(Value losses) { return ops::OnesLike(losses); }

// The divisor of the weighted sum; not valid(): there is none.
Value Divisor(Value losses, Value weights, Value example_weight, LossReduction reduction) {
  switch (reduction) {
    case LossReduction::kSum:
      return {};
    case LossReduction::kSumOverBatchSize:
      if (!example_weight.valid()) return ops::Cast(ops::Size(losses), losses.dtype());
      return ops::Sum(ops::Mul(Ones(losses), example_weight));
    case LossReduction::kMean:
      if (!weights.valid()) return ops::Cast(ops::Size(losses), losses.dtype());
      return ops::Sum(ops::Mul(Ones(losses), weights));
    case LossReduction::kSumByNonzeroWeights: {
      if (!weights.valid()) return ops::Cast(ops::Size(losses), losses.dtype());
      const Value zero = losses.graph().ScalarOf(weights.dtype(), 0.0);
      const Value present = ops::Cast(ops::NotEqual(weights, zero), losses.dtype());
      return ops::Sum(ops::Mul(Ones(losses), present));
    }
  }
  return {};
}

}  // namespace

Value SparseSoftmaxCrossEntropy(Value logits, Value labels, double label_smoothing) {
  const Value ids = ops::Squeeze(labels, {1});
  Value losses;
  if (label_smoothing == 0.0) {
    losses = ops::SparseSoftmaxCrossEntropyWithLogits(logits, ids);
  } else {
    const int64_t classes = logits.shape().dim(-1);
    const double elsewhere = label_smoothing / static_cast<double>(classes);
    const Value target = ops::OneHot(ids, {.depth = static_cast<int>(classes),
                                           .dtype = logits.dtype(),
                                           .on_value = 1 - label_smoothing + elsewhere,
                                           .off_value = elsewhere});
    losses = ops::SoftmaxCrossEntropyWithLogits(logits, target);
  }
  return ops::ExpandDims(losses, -1);
}

Value SigmoidCrossEntropy(Value logits, Value labels) {
  // Sides are selected, not found by max and abs, so that the gradient at 0 is 1/2 - z.
  const Value zero = logits.graph().ScalarOf(logits.dtype(), 0.0);
  const Value positive = ops::GreaterEqual(logits, zero);
  const Value negative = ops::Neg(logits);
  const Value relu = ops::SelectV2(positive, logits, zero);
  const Value minus_abs = ops::SelectV2(positive, negative, logits);
  return ops::AddV2(ops::Sub(relu, ops::Mul(logits, labels)), ops::Log1p(ops::Exp(minus_abs)));
}

Value SquaredError(Value predictions, Value labels) {
  return ops::SquaredDifference(predictions, labels);
}

Value LogPoissonLoss(Value logits, Value labels, bool full) {
  const Value losses = ops::Sub(ops::Exp(logits), ops::Mul(logits, labels));
  if (!full) return losses;
  const Value half_log = ops::Mul(ops::Log(ops::Mul(labels, 2 * std::numbers::pi)), 0.5);
  const Value stirling = ops::AddV2(ops::Sub(ops::Mul(labels, ops::Log(labels)), labels), half_log);
  const Value zeros = ops::ZerosLike(labels);
  const Value small = ops::LogicalAnd(ops::GreaterEqual(labels, zeros),
                                      ops::LessEqual(labels, ops::OnesLike(labels)));
  return ops::AddV2(losses, ops::SelectV2(small, zeros, stirling));
}

const std::vector<std::string_view>& LossReductionNames() {
  static const std::vector<std::string_view> names = {
      "SUM_OVER_BATCH_SIZE", "SUM", "MEAN", "SUM_BY_NONZERO_WEIGHTS", "SUM_OVER_NONZERO_WEIGHTS",
      "sum_over_batch_size", "sum", "mean", "sum_by_nonzero_weights", "sum_over_nonzero_weights"};
  return names;
}

LossReduction ParseLossReduction(const std::string& name) {
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (upper == "SUM") return LossReduction::kSum;
  if (upper == "SUM_OVER_BATCH_SIZE") return LossReduction::kSumOverBatchSize;
  if (upper == "MEAN") return LossReduction::kMean;
  if (upper == "SUM_BY_NONZERO_WEIGHTS" || upper == "SUM_OVER_NONZERO_WEIGHTS") {
    return LossReduction::kSumByNonzeroWeights;
  }
  throw Error(
      Code::kUsage,
      fmt::format("Invalid loss_reduction: {}. See `tf.losses.Reduction` for valid options.", name),
      "SUM_OVER_BATCH_SIZE, SUM, MEAN or SUM_BY_NONZERO_WEIGHTS");
}

Value ProductOfWeights(Value a, Value b) {
  if (!a.valid()) return b;
  if (!b.valid()) return a;
  return ops::Mul(a, b);
}

Value ReduceLoss(Value losses, const LossWeights& weights, LossReduction reduction) {
  const NameScope scope(losses.graph(), "weighted_loss");
  const bool padded = weights.example_weight.valid();
  const Value w = ProductOfWeights(weights.weights, weights.example_weight);
  Value sum = ops::Sum(w.valid() ? ops::Mul(losses, w) : losses);
  Value divisor = Divisor(losses, w, weights.example_weight, reduction);
  if (!divisor.valid()) return sum;
  if (padded && weights.replicas > 1) {
    sum = ops::CrossReplicaSum(sum, weights.replicas);
    divisor = ops::CrossReplicaSum(divisor, weights.replicas);
  }
  // The divisor is a count where there are no weights, and an empty batch should show.
  return w.valid() ? ops::DivNoNan(sum, divisor) : ops::RealDiv(sum, divisor);
}

}  // namespace tpuest::nn
