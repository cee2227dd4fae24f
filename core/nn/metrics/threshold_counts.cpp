#include "core/nn/metrics/threshold_counts.h"

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

Variable* AddCount(Graph& graph, const std::string& name, int64_t size) {
  const Shape shape{size};
  return graph.AddVariable(name, DType::kDouble, shape, ops::Zeros(graph, DType::kDouble, shape),
                           {.trainable = false, .local = true});
}

// Makes one column of all elements: [B, D] -> [B * D, 1].
Value AsColumn(Value x) {
  return x.shape().dim(-1) == 1 ? x : ops::Reshape(x, Shape{kUnknownDim, 1});
}

}  // namespace

ThresholdCounts CountAtThresholds(Graph& graph, const std::string& name, Value predictions,
                                  Value labels, Value weights,
                                  const std::vector<float>& thresholds) {
  const auto n = static_cast<int64_t>(thresholds.size());
  Variable* const true_positives = AddCount(graph, name + "/true_positives", n);
  Variable* const false_positives = AddCount(graph, name + "/false_positives", n);
  Variable* const positives = AddCount(graph, name + "/positives", 1);
  Variable* const negatives = AddCount(graph, name + "/negatives", 1);

  const Value zero = graph.ScalarOf(labels.dtype(), 0.0);
  const Value right = ops::Cast(ops::NotEqual(labels, zero), DType::kDouble);
  const Value ones = ops::OnesLike(right);
  const Value w = weights.valid() ? ops::Mul(ones, ops::Cast(weights, DType::kDouble)) : ones;
  const Value right_weight = AsColumn(ops::Mul(right, w));
  const Value wrong_weight = AsColumn(ops::Mul(ops::Sub(1.0, right), w));
  const Value cuts = graph.Constant(Tensor::Of<float>({1, n}, thresholds), "thresholds");
  const Value above = ops::Cast(  // [B D, n]
      ops::Greater(AsColumn(ops::Cast(predictions, DType::kFloat)), cuts), DType::kDouble);
  const auto add = [](const Variable* variable, Value examples) {
    return ops::AssignAddVariableOp(variable->handle, ops::Sum(examples, {0}));
  };
  Node* const update =
      ops::NoOp(graph, {add(true_positives, ops::Mul(above, right_weight)),
                        add(false_positives, ops::Mul(above, wrong_weight)),
                        add(positives, right_weight), add(negatives, wrong_weight)});
  return {true_positives->value, false_positives->value, positives->value, negatives->value,
          update};
}

std::vector<float> EvenThresholds(int n, double first, double last) {
  std::vector<float> values = {static_cast<float>(first)};
  for (int i = 1; i < n - 1; ++i) {
    values.push_back(static_cast<float>(static_cast<double>(i) / (n - 1)));
  }
  values.push_back(static_cast<float>(last));
  return values;
}

}  // namespace tpuest::nn
