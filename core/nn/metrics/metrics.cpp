#include "core/nn/metrics/metrics.h"

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

Value Wide(Value x) { return ops::Cast(x, DType::kDouble); }

Variable* AddSum(Graph& graph, const std::string& name) {
  const Value zero = graph.Scalar<double>(0.0);
  return graph.AddVariable(name, DType::kDouble, Shape(), zero,
                           {.trainable = false, .local = true});
}

MetricOps Ratio(Value numerator, Value denominator, Node* update) {
  return {ops::Cast(ops::DivNoNan(numerator, denominator), DType::kFloat), update};
}

// A weighted mean on its way: the sum, what it is divided by, and what adds a batch to both.
struct WeightedSum {
  Value total;  // float64 []
  Value count;  // float64 []
  Node* update = nullptr;
};

WeightedSum AddUp(Graph& graph, const std::string& name, Value values, Value weights) {
  const Value wide = Wide(values);
  const Value ones = ops::OnesLike(wide);
  const Value w = weights.valid() ? ops::Mul(ones, Wide(weights)) : ones;
  const Variable* const total = AddSum(graph, name + "/total");
  const Variable* const count = AddSum(graph, name + "/count");
  Node* const update =
      ops::NoOp(graph, {ops::AssignAddVariableOp(total->handle, ops::Sum(ops::Mul(wide, w))),
                        ops::AssignAddVariableOp(count->handle, ops::Sum(w))});
  return {total->value, count->value, update};
}

// The decisions of a batch: which predictions are positive, and which labels are.
struct Decisions {
  Value predicted;  // float64, 0 or 1
  Value actual;     // float64, 0 or 1
};

Decisions Decide(Value predictions, Value labels, double threshold) {
  Graph& graph = predictions.graph();
  const Value cut = graph.ScalarOf(DType::kFloat, threshold, "threshold");
  const Value zero = graph.ScalarOf(labels.dtype(), 0.0);
  return {Wide(ops::Greater(ops::Cast(predictions, DType::kFloat), cut)),
          Wide(ops::NotEqual(labels, zero))};
}

}  // namespace

MetricOps MeanMetric(Graph& graph, const std::string& name, Value values, Value weights) {
  const NameScope scope(graph, name);
  const WeightedSum sum = AddUp(graph, name, values, weights);
  return Ratio(sum.total, sum.count, sum.update);
}

MetricOps RootMeanSquaredErrorMetric(Graph& graph, const std::string& name, Value predictions,
                                     Value labels, Value weights) {
  const NameScope scope(graph, name);
  const Value squares = ops::SquaredDifference(Wide(predictions), Wide(labels));
  const WeightedSum sum = AddUp(graph, name, squares, weights);
  const Value mean = ops::DivNoNan(sum.total, sum.count);
  return {ops::Cast(ops::Sqrt(mean), DType::kFloat), sum.update};
}

MetricOps AccuracyMetric(Graph& graph, const std::string& name, Value a, Value b, Value weights) {
  if (a.dtype() != b.dtype()) {
    a = ops::Cast(a, DType::kFloat);
    b = ops::Cast(b, DType::kFloat);
  }
  return MeanMetric(graph, name, ops::Equal(a, b), weights);
}

MetricOps AccuracyBaseline(Graph& graph, const std::string& name, Value labels, Value weights) {
  const NameScope scope(graph, name);
  const WeightedSum sum = AddUp(graph, name, labels, weights);
  return Ratio(ops::Maximum(sum.total, ops::Sub(sum.count, sum.total)), sum.count, sum.update);
}

MetricOps PrecisionMetric(Graph& graph, const std::string& name, Value predictions, Value labels,
                          Value weights, double threshold) {
  const NameScope scope(graph, name);
  const Decisions is = Decide(predictions, labels, threshold);
  // Precision is the mean of "label is positive" over the positive predictions.
  const Value w = weights.valid() ? ops::Mul(is.predicted, Wide(weights)) : is.predicted;
  return MeanMetric(graph, name, is.actual, w);
}

MetricOps RecallMetric(Graph& graph, const std::string& name, Value predictions, Value labels,
                       Value weights, double threshold) {
  const NameScope scope(graph, name);
  const Decisions is = Decide(predictions, labels, threshold);
  const Value w = weights.valid() ? ops::Mul(is.actual, Wide(weights)) : is.actual;
  return MeanMetric(graph, name, is.predicted, w);
}

MetricOps BinaryAccuracyMetric(Graph& graph, const std::string& name, Value predictions,
                               Value labels, Value weights, double threshold) {
  const Value cut = graph.ScalarOf(DType::kFloat, threshold, "threshold");
  const Value predicted = ops::Greater(ops::Cast(predictions, DType::kFloat), cut);
  return AccuracyMetric(graph, name, labels, ops::Cast(predicted, DType::kFloat), weights);
}

Value InTopK(Value scores, Value labels, int64_t k) {
  Graph& graph = scores.graph();
  const auto classes = static_cast<int>(scores.shape().dim(-1));
  const Value ids = ops::Squeeze(ops::Cast(labels, DType::kInt32), {1});
  const Value is_label = ops::OneHot(ids, {.depth = classes, .dtype = scores.dtype()});
  const Value score = ops::Sum(ops::Mul(is_label, scores), {1}, true);
  std::vector<int64_t> positions;
  for (int i = 0; i < classes; ++i) positions.push_back(i);
  const Value before =
      ops::Less(ops::Int32s(graph, positions, "classes"), ops::ExpandDims(ids, -1));
  const Value ahead = ops::LogicalOr(ops::Greater(scores, score),
                                     ops::LogicalAnd(ops::Equal(scores, score), before));
  const Value rank = ops::Sum(ops::Cast(ahead, DType::kFloat), {1}, true);
  const Value limit = graph.ScalarOf(DType::kFloat, static_cast<double>(k));
  return ops::Cast(ops::Less(rank, limit), DType::kFloat);
}

}  // namespace tpuest::nn
