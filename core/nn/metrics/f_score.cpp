// The F score, from counts per class.

#include "core/nn/metrics/metrics.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

// Sums over examples per class, float64 [D]; [] each if they are counted over all classes.
struct ScoreSums {
  Value right;      // w p y
  Value predicted;  // w p
  Value labels;     // w y
};

ScoreSums ScoreSumsOf(Value predicted, Value labels, Value weights, ScoreAverage average) {
  const Value p = ops::Cast(predicted, DType::kDouble);
  const Value y = ops::Cast(labels, DType::kDouble);
  const auto sum = [&](Value x) {
    const Value weighted = weights.valid() ? ops::Mul(x, ops::Cast(weights, DType::kDouble)) : x;
    return average == ScoreAverage::kMicro ? ops::Sum(weighted) : ops::Sum(weighted, {0});
  };
  return {.right = sum(ops::Mul(p, y)), .predicted = sum(p), .labels = sum(y)};
}

Value ScoreOf(const ScoreSums& of, double beta, ScoreAverage average) {
  const Value precision = ops::DivNoNan(of.right, of.predicted);
  const Value recall = ops::DivNoNan(of.right, of.labels);
  const Value below = ops::AddV2(ops::Mul(precision, beta * beta), recall);
  const Value score = ops::Mul(ops::DivNoNan(ops::Mul(precision, recall), below), 1 + beta * beta);
  const auto narrow = [](Value x) { return ops::Cast(x, DType::kFloat); };
  if (average == ScoreAverage::kMacro) return narrow(ops::Mean(score));
  if (average != ScoreAverage::kWeighted) return narrow(score);
  return narrow(ops::DivNoNan(ops::Sum(ops::Mul(score, of.labels)), ops::Sum(of.labels)));
}

}  // namespace

MetricOps FScoreMetric(Graph& graph, const std::string& name, Value predicted, Value labels,
                       Value weights, double beta, ScoreAverage average) {
  const NameScope scope(graph, name);
  const ScoreSums batch = ScoreSumsOf(predicted, labels, weights, average);
  const Shape shape = average == ScoreAverage::kMicro ? Shape() : Shape{labels.shape().dim(-1)};
  const auto add = [&](const char* part) {
    return graph.AddVariable(fmt::format("{}/{}", name, part), DType::kDouble, shape,
                             ops::Zeros(graph, DType::kDouble, shape),
                             {.trainable = false, .local = true});
  };
  const Variable* const right = add("right");
  const Variable* const positive = add("predicted");
  const Variable* const actual = add("labels");
  return {.value = ScoreOf({right->value, positive->value, actual->value}, beta, average),
          .update = ops::NoOp(graph, {ops::AssignAddVariableOp(right->handle, batch.right),
                                      ops::AssignAddVariableOp(positive->handle, batch.predicted),
                                      ops::AssignAddVariableOp(actual->handle, batch.labels)}),
          .of_batch = [=] { return ScoreOf(batch, beta, average); }};
}

}  // namespace tpuest::nn
