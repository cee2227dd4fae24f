// Counts of what a classifier of two classes gets right and wrong, at one threshold or at the best
// of many.

#include <numeric>

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

Tensor Positions(int n) {
  std::vector<int64_t> positions(static_cast<size_t>(n));
  std::iota(positions.begin(), positions.end(), int64_t{0});
  return Tensor::Of<int64_t>({n}, positions);
}

std::vector<float> Narrow(const std::vector<double>& thresholds) {
  return {thresholds.begin(), thresholds.end()};
}

// The counts [n] as they are, or as one number, [], where n is 1.
Value OnlyOrAll(Value counts) {
  return counts.shape().dim(0) == 1 ? ops::Squeeze(counts, {0}) : counts;
}

// The value of x [n] at `index`, int64 [].
Value At(Value x, Value index) { return ops::GatherV2(x, index, 0); }

// The thresholds of tf.metrics: two just outside [0, 1], all others evenly between them.
std::vector<float> ThresholdsOfMetrics(int n) {
  constexpr double kOutside = 1e-7;
  return EvenThresholds(n, 0.0 - kOutside, 1.0 + kOutside);
}

}  // namespace

MetricOps NearestTradeoffMetric(Graph& graph, const std::string& name, Tradeoff tradeoff,
                                Value predictions, Value labels, Value weights, double wanted,
                                int num_thresholds) {
  const NameScope scope(graph, name);
  const ThresholdCounts counts = CountAtThresholds(graph, name, predictions, labels, weights,
                                                   ThresholdsOfMetrics(num_thresholds));
  const bool by_specificity = tradeoff == Tradeoff::kSensitivityAtSpecificity;
  const auto narrow = [](Value x) { return ops::Cast(x, DType::kFloat); };
  // A share of a class, with the small number below the line that keeps it from 0 / 0.
  const auto share = [&](Value right, Value all) {
    return ops::RealDiv(narrow(right), ops::AddV2(narrow(all), 1e-7));
  };
  const Value negatives = CellOf(counts, ConfusionCell::kTrueNegatives);
  const Value specificity = share(negatives, counts.negatives);
  const Value sensitivity = share(counts.true_positives, counts.positives);
  const Value distance = ops::Abs(ops::Sub(by_specificity ? specificity : sensitivity, wanted));
  if (by_specificity) return {At(sensitivity, ops::ArgMin(distance, 0)), counts.update};
  // Of several equally near thresholds the last one counts.
  const Value nearest = ops::Equal(distance, ops::Min(distance));
  const Value places = graph.Constant(Positions(num_thresholds), "places");
  const Value last = ops::Max(ops::SelectV2(nearest, places, ops::ZerosLike(places)));
  return {At(specificity, last), counts.update};
}

MetricOps ConfusionMetric(Graph& graph, const std::string& name, ConfusionCell cell,
                          Value predictions, Value labels, Value weights, double threshold) {
  return ConfusionMetric(graph, name, cell, predictions, labels, weights,
                         std::vector<double>{threshold});
}

MetricOps ConfusionMetric(Graph& graph, const std::string& name, ConfusionCell cell,
                          Value predictions, Value labels, Value weights,
                          const std::vector<double>& thresholds) {
  const NameScope scope(graph, name);
  const ThresholdCounts counts =
      CountAtThresholds(graph, name, predictions, labels, weights, Narrow(thresholds));
  return {ops::Cast(OnlyOrAll(CellOf(counts, cell)), DType::kFloat), counts.update};
}

MetricOps RateAtThresholdsMetric(Graph& graph, const std::string& name, ClassRate rate,
                                 Value predictions, Value labels, Value weights,
                                 const std::vector<double>& thresholds) {
  const NameScope scope(graph, name);
  const ThresholdCounts counts =
      CountAtThresholds(graph, name, predictions, labels, weights, Narrow(thresholds));
  const Value all = rate == ClassRate::kPrecision
                        ? ops::AddV2(counts.true_positives, counts.false_positives)
                        : counts.positives;
  const Value rates = ops::DivNoNan(counts.true_positives, all);
  return {ops::Cast(OnlyOrAll(rates), DType::kFloat), counts.update};
}

MetricOps TradeoffMetric(Graph& graph, const std::string& name, Tradeoff tradeoff,
                         Value predictions, Value labels, Value weights, double least,
                         int num_thresholds) {
  const NameScope scope(graph, name);
  const ThresholdCounts counts = CountAtThresholds(
      graph, name, predictions, labels, weights,
      num_thresholds == 1 ? std::vector<float>{0.5F} : EvenThresholds(num_thresholds, 0.0, 1.0));
  const Pair pair = PairOf(counts, tradeoff);
  const Value feasible =
      ops::GreaterEqual(pair.constrained, graph.ScalarOf(DType::kFloat, least, "least"));
  const Value best = ops::Max(ops::SelectV2(feasible, pair.wanted, ops::ZerosLike(pair.wanted)));
  return {best, counts.update};
}

}  // namespace tpuest::nn
