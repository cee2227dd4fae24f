#include "core/nn/metrics/metrics.h"

#include <vector>

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

// A sum and what it is divided by, float64 [] each.
struct Fraction {
  Value total;
  Value count;
};

// A weighted mean on its way: of all batches, of this one, and what adds this one.
struct WeightedSum {
  Fraction all;
  Fraction batch;
  Node* update = nullptr;
};

// The metric that `value` makes of the sums, a function Fraction -> float64 [].
template <class ValueFn>
MetricOps MetricOf(const WeightedSum& sum, ValueFn value) {
  const auto narrow = [value](const Fraction& of) { return ops::Cast(value(of), DType::kFloat); };
  return {.value = narrow(sum.all), .update = sum.update, .of_batch = [narrow, batch = sum.batch] {
            return narrow(batch);
          }};
}

WeightedSum AddUp(Graph& graph, const std::string& name, Value values, Value weights) {
  const Value wide = Wide(values);
  const Value ones = ops::OnesLike(wide);
  const Value w = weights.valid() ? ops::Mul(ones, Wide(weights)) : ones;
  const Variable* const total = AddSum(graph, name + "/total");
  const Variable* const count = AddSum(graph, name + "/count");
  const Value batch_total = ops::Sum(ops::Mul(wide, w));
  Node* const add_total = ops::AssignAddVariableOp(total->handle, batch_total);
  const Value batch_count = ops::Sum(w);
  Node* const add_count = ops::AssignAddVariableOp(count->handle, batch_count);
  return {.all = {total->value, count->value},
          .batch = {batch_total, batch_count},
          .update = ops::NoOp(graph, {add_total, add_count})};
}

Value Mean(const Fraction& of) { return ops::DivNoNan(of.total, of.count); }

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
  return MetricOf(AddUp(graph, name, values, weights), Mean);
}

MetricOps RootMeanSquaredErrorMetric(Graph& graph, const std::string& name, Value predictions,
                                     Value labels, Value weights) {
  const NameScope scope(graph, name);
  const Value squares = ops::SquaredDifference(Wide(predictions), Wide(labels));
  return MetricOf(AddUp(graph, name, squares, weights),
                  [](const Fraction& of) { return ops::Sqrt(Mean(of)); });
}

namespace {

// The sums over a batch of which R2 is made, float64 [D] each.
struct SquareSums {
  Value weight;
  Value labels;         // w y
  Value label_squares;  // w y y
  Value errors;         // w (y - p) (y - p)

  [[nodiscard]] std::vector<Value> all() const { return {weight, labels, label_squares, errors}; }
};

SquareSums SquareSumsOf(Value predictions, Value labels, Value weights) {
  const Value y = Wide(labels);
  const Value ones = ops::OnesLike(y);
  const Value w = weights.valid() ? ops::Mul(ones, Wide(weights)) : ones;
  const auto sum = [&](Value x) { return ops::Sum(ops::Mul(x, w), {0}); };
  return {.weight = ops::Sum(w, {0}),
          .labels = sum(y),
          .label_squares = sum(ops::Mul(y, y)),
          .errors = sum(ops::SquaredDifference(Wide(predictions), y))};
}

Value R2Of(const SquareSums& of) {
  const Value mean_square = ops::DivNoNan(ops::Mul(of.labels, of.labels), of.weight);
  const Value spread = ops::Sub(of.label_squares, mean_square);
  const Value zero = spread.graph().ScalarOf(DType::kDouble, 0.0);
  const Value missed = ops::Cast(ops::Greater(of.errors, zero), DType::kDouble);
  const Value part =
      ops::SelectV2(ops::Greater(spread, zero), ops::DivNoNan(of.errors, spread), missed);
  return ops::Cast(ops::Mean(ops::Sub(1.0, part)), DType::kFloat);
}

}  // namespace

MetricOps R2ScoreMetric(Graph& graph, const std::string& name, Value predictions, Value labels,
                        Value weights) {
  const NameScope scope(graph, name);
  const SquareSums batch = SquareSumsOf(predictions, labels, weights);
  const Shape shape{labels.shape().dim(-1)};
  std::vector<Value> sums;
  std::vector<Node*> updates;
  for (const char* const part : {"weight", "labels", "label_squares", "errors"}) {
    const Variable* const variable = graph.AddVariable(
        fmt::format("{}/{}", name, part), DType::kDouble, shape,
        ops::Zeros(graph, DType::kDouble, shape), {.trainable = false, .local = true});
    updates.push_back(ops::AssignAddVariableOp(variable->handle, batch.all()[sums.size()]));
    sums.push_back(variable->value);
  }
  return {.value = R2Of({sums[0], sums[1], sums[2], sums[3]}),
          .update = ops::NoOp(graph, updates),
          .of_batch = [batch] { return R2Of(batch); }};
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
  return MetricOf(AddUp(graph, name, labels, weights), [](const Fraction& of) {
    return ops::DivNoNan(ops::Maximum(of.total, ops::Sub(of.count, of.total)), of.count);
  });
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

Value KeepTopK(Value scores, int64_t k) {
  const auto classes = static_cast<int>(scores.shape().dim(-1));
  const Value best = ops::TopKV2(scores, static_cast<int>(k)).indices;
  const Value kept = ops::Sum(ops::OneHot(best, {.depth = classes}), {-2});
  const Value zero = scores.graph().ScalarOf(DType::kFloat, 0.0);
  const Value below = ops::Mul(ops::OnesLike(scores), kBelowAll);
  return ops::SelectV2(ops::Greater(kept, zero), scores, below);
}

}  // namespace tpuest::nn
