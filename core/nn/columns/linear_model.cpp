#include "core/nn/columns/linear_model.h"

#include "core/ops/array.h"
#include "core/ops/bias.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

Value WeightedSum(const LinearModel& model, const ColumnRef& column, ColumnValues& values) {
  LayerContext& layers = values.layers();
  const FeatureColumn& options = values.columns().At(column.job_name, {});
  const std::string name = fmt::format("{}/{}/weights", model.scope, ScopeOf(column.name));
  const auto weights = [&](int64_t rows) {
    return AddWeight(layers, name, Shape({rows, model.units}), ZerosInitializer{});
  };
  if (IsCategorical(options)) {
    const Categories& categories = values.CategoriesOf(column.job_name);
    return CombinedRows(*weights(categories.buckets), categories,
                        {.combiner = model.sparse_combiner, .trains = layers.training});
  }
  const Value x = values.DenseOf(column, model.scope);
  return ops::MatMul(x, weights(x.shape().dim(1))->value);
}

// The fraction of zeros among all weights but the bias, float32 [].
Value FractionOfZeros(Graph& graph, const LinearModel& model, const Variable& bias) {
  std::vector<Value> zeros;
  double total = 0;
  for (const auto& variable : graph.variables()) {
    if (variable.get() == &bias || !variable->name.starts_with(model.scope + "/")) continue;
    const Value zero = graph.ScalarOf(DType::kFloat, 0);
    zeros.push_back(ops::Sum(ops::Cast(ops::Equal(variable->value, zero), DType::kFloat)));
    total += static_cast<double>(variable->shape.elements());
  }
  return ops::RealDiv(ops::AddN(zeros), total);
}

}  // namespace

Value LinearModel::Logits(ColumnValues& values, Summaries& summaries) const {
  std::vector<Value> sums;
  for (const ColumnRef& column : columns) {
    const auto sum = [&] { return WeightedSum(*this, column, values); };
    sums.push_back(values.Record(column, scope, sum));
  }
  Graph& graph = values.layers().graph;
  const int first = graph.next_node();
  const Variable* const bias =
      AddWeight(values.layers(), scope + "/bias_weights", Shape({units}), ZerosInitializer{});
  const NameScope nodes(graph, scope);
  if (units == 1) {
    summaries.scalars["bias"] = ops::Squeeze(bias->value, {0}, "bias");
  } else {
    summaries.histograms["bias"] = bias->value;
  }
  summaries.scalars["fraction_of_zero_weights"] = FractionOfZeros(graph, *this, *bias);
  const Value sum = ops::AddN(sums, "weighted_sum_no_bias");
  const Value logits = ops::BiasAdd(sum, bias->value, "weighted_sum");
  graph.AddLayer(scope, "linear_model", first, logits);
  return logits;
}

}  // namespace tpuest::nn
