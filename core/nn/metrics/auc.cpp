// The area under a curve from sums over examples at each of many thresholds.

#include <algorithm>

#include "core/nn/metrics/metrics.h"
#include "core/nn/metrics/threshold_counts.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

constexpr double kEpsilon = 1e-7;           // Keras's: below and above all predictions
constexpr double kTrapezoidEpsilon = 1e-6;  // of tf.compat.v1.metrics.auc

// The values at the lower and at the higher of two neighbouring thresholds, for all pairs of them.
Value Lower(Value x) { return ops::Slice(x, {0}, {x.shape().dim(0) - 1}); }
Value Higher(Value x) { return ops::Slice(x, {1}, {x.shape().dim(0) - 1}); }

struct Curve {
  Value x;  // float64 [thresholds], falling
  Value y;
};

Curve CurveOf(const ThresholdCounts& counts, AucCurve curve) {
  const Value recall = ops::DivNoNan(counts.true_positives, counts.positives);
  if (curve == AucCurve::kRoc) {
    return {ops::DivNoNan(counts.false_positives, counts.negatives), recall};
  }
  const Value predicted = ops::AddV2(counts.true_positives, counts.false_positives);
  return {recall, ops::DivNoNan(counts.true_positives, predicted)};
}

// The curve of tf.compat.v1.metrics.auc, where nothing divided by nothing is 1, or 0 for the false
// positives.
Curve TrapezoidCurve(const ThresholdCounts& counts, AucCurve curve) {
  const auto plus = [](Value x) { return ops::AddV2(x, kTrapezoidEpsilon); };
  const Value recall = ops::RealDiv(plus(counts.true_positives), plus(counts.positives));
  if (curve == AucCurve::kRoc) {
    return {ops::RealDiv(counts.false_positives, plus(counts.negatives)), recall};
  }
  const Value predicted = ops::AddV2(counts.true_positives, counts.false_positives);
  return {recall, ops::RealDiv(plus(counts.true_positives), plus(predicted))};
}

Value Heights(Value y, AucSummation summation) {
  if (summation == AucSummation::kMinoring) return ops::Minimum(Lower(y), Higher(y));
  if (summation == AucSummation::kMajoring) return ops::Maximum(Lower(y), Higher(y));
  return ops::Mul(ops::AddV2(Lower(y), Higher(y)), 0.5);
}

Value AreaBelow(const Curve& curve, AucSummation summation) {
  const Value width = ops::Sub(Lower(curve.x), Higher(curve.x));
  return ops::Sum(ops::Mul(width, Heights(curve.y, summation)));
}

// The area under precision over recall, with TP and P = TP + FP linear between thresholds A < B
// (Davis & Goadrich 2006, section 4): sum of slope (dTP + intercept log(P_A / P_B)) / positives.
Value InterpolatedPrArea(Graph& graph, const ThresholdCounts& counts) {
  const Value tp = counts.true_positives;
  const Value p = ops::AddV2(tp, counts.false_positives);
  const Value dtp = ops::Sub(Lower(tp), Higher(tp));
  const Value dp = ops::Sub(Lower(p), Higher(p));
  const Value slope = ops::DivNoNan(dtp, ops::Maximum(dp, 0.0));
  const Value intercept = ops::Sub(Higher(tp), ops::Mul(slope, Higher(p)));
  const Value zero = graph.ScalarOf(DType::kDouble, 0.0);
  const Value both = ops::LogicalAnd(ops::Greater(Lower(p), zero), ops::Greater(Higher(p), zero));
  const Value ratio = ops::SelectV2(both, ops::DivNoNan(Lower(p), ops::Maximum(Higher(p), 0.0)),
                                    ops::OnesLike(slope));
  const Value area = ops::Mul(slope, ops::AddV2(dtp, ops::Mul(intercept, ops::Log(ratio))));
  return ops::Sum(ops::DivNoNan(area, counts.positives));
}

Value Area(Graph& graph, const ThresholdCounts& counts, const AucSpec& spec) {
  if (spec.summation == AucSummation::kTrapezoidal) {
    return AreaBelow(TrapezoidCurve(counts, spec.curve), spec.summation);
  }
  if (spec.summation == AucSummation::kInterpolation && spec.curve == AucCurve::kPr) {
    return InterpolatedPrArea(graph, counts);
  }
  return AreaBelow(CurveOf(counts, spec.curve), spec.summation);
}

std::vector<float> ThresholdsOf(const AucSpec& spec) {
  if (spec.thresholds.empty()) {
    return EvenThresholds(spec.num_thresholds, -kEpsilon, 1.0 + kEpsilon);
  }
  std::vector<float> thresholds(spec.thresholds.begin(), spec.thresholds.end());
  thresholds.push_back(static_cast<float>(-kEpsilon));
  thresholds.push_back(static_cast<float>(1.0 + kEpsilon));
  std::sort(thresholds.begin(), thresholds.end());
  return thresholds;
}

}  // namespace

MetricOps AucMetric(Graph& graph, const std::string& name, Value predictions, Value labels,
                    Value weights, const AucSpec& spec) {
  const NameScope scope(graph, name);
  const ThresholdCounts counts =
      CountAtThresholds(graph, name, predictions, labels, weights, ThresholdsOf(spec));
  return {ops::Cast(Area(graph, counts, spec), DType::kFloat), counts.update};
}

}  // namespace tpuest::nn
