// The area under a curve from sums over examples at each of many thresholds.

#include "core/nn/metrics.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

constexpr double kEpsilon = 1e-7;  // Keras's: below and above all predictions

// float32 [1, n].
Value Thresholds(Graph& graph, int n) {
  std::vector<float> values = {static_cast<float>(-kEpsilon)};
  for (int i = 1; i < n - 1; ++i) {
    values.push_back(static_cast<float>(static_cast<double>(i) / (n - 1)));
  }
  values.push_back(static_cast<float>(1.0 + kEpsilon));
  return graph.Constant(Tensor::Of<float>({1, n}, values), "thresholds");
}

// What is counted, float64: positives by threshold that are right and that are wrong [n], and all
// examples whose label is positive and negative [1].
struct Counts {
  Variable* true_positives = nullptr;
  Variable* false_positives = nullptr;
  Variable* positives = nullptr;
  Variable* negatives = nullptr;
};

Counts AddCounts(Graph& graph, const std::string& name, int n) {
  const auto add = [&](const char* what, int64_t size) {
    const Shape shape{size};
    return graph.AddVariable(name + "/" + what, DType::kDouble, shape,
                             ops::Zeros(graph, DType::kDouble, shape),
                             {.trainable = false, .local = true});
  };
  return {add("true_positives", n), add("false_positives", n), add("positives", 1),
          add("negatives", 1)};
}

Node* Update(Graph& graph, const Counts& counts, Value predictions, Value labels, Value weights,
             int n) {
  const Value zero = graph.ScalarOf(labels.dtype(), 0.0);
  const Value right = ops::Cast(ops::NotEqual(labels, zero), DType::kDouble);  // [B, 1]
  const Value wrong = ops::Sub(1.0, right);
  const Value w = weights.valid() ? ops::Cast(weights, DType::kDouble) : ops::OnesLike(right);
  const Value above = ops::Cast(  // [B, n]
      ops::Greater(ops::Cast(predictions, DType::kFloat), Thresholds(graph, n)), DType::kDouble);
  const Value right_weight = ops::Mul(right, w);
  const Value wrong_weight = ops::Mul(wrong, w);
  const auto add = [](const Variable* variable, Value examples) {
    return ops::AssignAddVariableOp(variable->handle, ops::Sum(examples, {0}));
  };
  return ops::NoOp(graph,
                   {add(counts.true_positives, ops::Mul(above, right_weight)),
                    add(counts.false_positives, ops::Mul(above, wrong_weight)),
                    add(counts.positives, right_weight), add(counts.negatives, wrong_weight)});
}

// Between neighbouring thresholds: the value at the lower one and at the higher one.
Value Lower(Value x) { return ops::Slice(x, {0}, {x.shape().dim(0) - 1}); }
Value Higher(Value x) { return ops::Slice(x, {1}, {x.shape().dim(0) - 1}); }

Value RocArea(const Counts& counts) {
  const Value rate = ops::DivNoNan(counts.false_positives->value, counts.negatives->value);
  const Value recall = ops::DivNoNan(counts.true_positives->value, counts.positives->value);
  const Value width = ops::Sub(Lower(rate), Higher(rate));
  const Value height = ops::Mul(ops::AddV2(Lower(recall), Higher(recall)), 0.5);
  return ops::Sum(ops::Mul(width, height));
}

// With TP and P = TP + FP linear between thresholds A < B (Davis & Goadrich 2006, section 4):
// sum of slope (dTP + intercept log(P_A / P_B)) / positives.
Value PrArea(Graph& graph, const Counts& counts) {
  const Value tp = counts.true_positives->value;
  const Value p = ops::AddV2(tp, counts.false_positives->value);
  const Value dtp = ops::Sub(Lower(tp), Higher(tp));
  const Value dp = ops::Sub(Lower(p), Higher(p));
  const Value slope = ops::DivNoNan(dtp, ops::Maximum(dp, 0.0));
  const Value intercept = ops::Sub(Higher(tp), ops::Mul(slope, Higher(p)));
  const Value zero = graph.ScalarOf(DType::kDouble, 0.0);
  const Value both = ops::LogicalAnd(ops::Greater(Lower(p), zero), ops::Greater(Higher(p), zero));
  const Value ratio = ops::SelectV2(both, ops::DivNoNan(Lower(p), ops::Maximum(Higher(p), 0.0)),
                                    ops::OnesLike(slope));
  const Value area = ops::Mul(slope, ops::AddV2(dtp, ops::Mul(intercept, ops::Log(ratio))));
  return ops::Sum(ops::DivNoNan(area, counts.positives->value));
}

}  // namespace

Metric AucMetric(Graph& graph, const std::string& name, Value predictions, Value labels,
                 Value weights, AucCurve curve, int num_thresholds) {
  const NameScope scope(graph, name);
  const Counts counts = AddCounts(graph, name, num_thresholds);
  Node* const update = Update(graph, counts, predictions, labels, weights, num_thresholds);
  const Value area = curve == AucCurve::kRoc ? RocArea(counts) : PrArea(graph, counts);
  return {ops::Cast(area, DType::kFloat), update};
}

}  // namespace tpuest::nn
