// Counts of what a classifier of two classes gets right and wrong, at one threshold or at the best
// of many.

#include "core/nn/metrics/metrics.h"
#include "core/nn/metrics/threshold_counts.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

Value CellOf(const ThresholdCounts& counts, ConfusionCell cell) {
  switch (cell) {
    case ConfusionCell::kTruePositives:
      return counts.true_positives;
    case ConfusionCell::kFalsePositives:
      return counts.false_positives;
    case ConfusionCell::kFalseNegatives:
      return ops::Sub(counts.positives, counts.true_positives);
    case ConfusionCell::kTrueNegatives:
      return ops::Sub(counts.negatives, counts.false_positives);
  }
  return {};
}

// The two rates of a trade-off, float32 [thresholds] both.
struct Pair {
  Value wanted;
  Value constrained;
};

Pair PairOf(const ThresholdCounts& counts, Tradeoff tradeoff) {
  const auto narrow = [](Value x) { return ops::Cast(x, DType::kFloat); };
  const Value recall = narrow(ops::DivNoNan(counts.true_positives, counts.positives));
  if (tradeoff == Tradeoff::kPrecisionAtRecall || tradeoff == Tradeoff::kRecallAtPrecision) {
    const Value predicted = ops::AddV2(counts.true_positives, counts.false_positives);
    const Value precision = narrow(ops::DivNoNan(counts.true_positives, predicted));
    return tradeoff == Tradeoff::kPrecisionAtRecall ? Pair{precision, recall}
                                                    : Pair{recall, precision};
  }
  const Value right = CellOf(counts, ConfusionCell::kTrueNegatives);
  const Value specificity = narrow(ops::DivNoNan(right, counts.negatives));
  return tradeoff == Tradeoff::kSensitivityAtSpecificity ? Pair{recall, specificity}
                                                         : Pair{specificity, recall};
}

}  // namespace

MetricOps ConfusionMetric(Graph& graph, const std::string& name, ConfusionCell cell,
                          Value predictions, Value labels, Value weights, double threshold) {
  const NameScope scope(graph, name);
  const ThresholdCounts counts =
      CountAtThresholds(graph, name, predictions, labels, weights, {static_cast<float>(threshold)});
  const Value count = ops::Squeeze(CellOf(counts, cell), {0});
  return {ops::Cast(count, DType::kFloat), counts.update};
}

MetricOps TradeoffMetric(Graph& graph, const std::string& name, Tradeoff tradeoff,
                         Value predictions, Value labels, Value weights, double least,
                         int num_thresholds) {
  const NameScope scope(graph, name);
  const ThresholdCounts counts = CountAtThresholds(graph, name, predictions, labels, weights,
                                                   EvenThresholds(num_thresholds, 0.0, 1.0));
  const Pair pair = PairOf(counts, tradeoff);
  const Value feasible =
      ops::GreaterEqual(pair.constrained, graph.ScalarOf(DType::kFloat, least, "least"));
  const Value best = ops::Max(ops::SelectV2(feasible, pair.wanted, ops::ZerosLike(pair.wanted)));
  return {best, counts.update};
}

}  // namespace tpuest::nn
