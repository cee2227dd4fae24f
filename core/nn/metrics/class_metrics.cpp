// Metrics of predicted classes: the confusion matrix, and precision and recall of several classes,
// which are read from it.

#include "core/nn/metrics/metrics.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

// Counts of examples by label (rows) and predicted class (columns), float64 [classes, classes].
struct ClassCounts {
  Value counts;
  Value batch;  // of this batch alone
  Node* update = nullptr;
};

// The rows' numbers as int64 [B].
Value Ids(Value x) { return ops::Reshape(ops::Cast(x, DType::kInt64), Shape{kUnknownDim}); }

Value IsClass(Value ids, int64_t classes) {
  Graph& graph = ids.graph();
  return ops::LogicalAnd(ops::GreaterEqual(ids, graph.Scalar<int64_t>(0)),
                         ops::Less(ids, graph.Scalar<int64_t>(classes)));
}

// An example whose label or prediction is no class is left out.
ClassCounts CountClasses(Graph& graph, const std::string& name, Value labels, Value class_ids,
                         Value weights, int64_t classes) {
  const Shape shape{classes, classes};
  const Variable* const counts = graph.AddVariable(name + "/counts", DType::kDouble, shape,
                                                   ops::Zeros(graph, DType::kDouble, shape),
                                                   {.trainable = false, .local = true});
  const Value of = Ids(labels);
  const Value as = Ids(class_ids);
  const Value cell = ops::AddV2(ops::Mul(of, graph.Scalar<int64_t>(classes)), as);
  const Value none = ops::Sub(ops::ZerosLike(cell), ops::OnesLike(cell));
  const Value known = ops::LogicalAnd(IsClass(of, classes), IsClass(as, classes));
  const Value ones = ops::OnesLike(ops::Cast(class_ids, DType::kDouble));
  const Value w = weights.valid() ? ops::Mul(ones, ops::Cast(weights, DType::kDouble)) : ones;
  const Value sums = ops::UnsortedSegmentSum(ops::Reshape(w, Shape{kUnknownDim}),
                                             ops::SelectV2(known, cell, none), classes * classes);
  const Value batch = ops::Reshape(sums, shape);
  return {.counts = counts->value,
          .batch = batch,
          .update = ops::AssignAddVariableOp(counts->handle, batch)};
}

// Returns the diagonal of [classes, classes], float64 [classes].
Value DiagonalOf(Value counts, int64_t classes) {
  std::vector<double> unit(static_cast<size_t>(classes * classes), 0.0);
  for (int64_t i = 0; i < classes; ++i) unit[static_cast<size_t>(i * classes + i)] = 1.0;
  const Value diagonal =
      counts.graph().Constant(Tensor::Of<double>(Shape{classes, classes}, unit), "diagonal");
  return ops::Sum(ops::Mul(counts, diagonal), {1});
}

// A rate per class, float64 [classes], and which classes occur as labels or predictions.
struct ClassRates {
  Value rates;
  Value there;  // 0 or 1
};

ClassRates RatesOf(Value counts, ClassRate rate, int64_t classes) {
  const Value right = DiagonalOf(counts, classes);
  const Value labels = ops::Sum(counts, {1});
  const Value predicted = ops::Sum(counts, {0});
  const Value zero = counts.graph().ScalarOf(DType::kDouble, 0.0);
  return {.rates = ops::DivNoNan(right, rate == ClassRate::kPrecision ? predicted : labels),
          .there = ops::Cast(ops::Greater(ops::AddV2(labels, predicted), zero), DType::kDouble)};
}

}  // namespace

MetricOps ConfusionMatrixMetric(Graph& graph, const std::string& name, Value labels,
                                Value class_ids, Value weights, int64_t classes) {
  const NameScope scope(graph, name);
  const ClassCounts counts = CountClasses(graph, name, labels, class_ids, weights, classes);
  return {ops::Cast(counts.counts, DType::kFloat), counts.update};
}

MetricOps IntersectionOverUnionMetric(Graph& graph, const std::string& name, Value labels,
                                      Value class_ids, Value weights, int64_t classes,
                                      const std::vector<int64_t>& targets) {
  const NameScope scope(graph, name);
  const ClassCounts counts = CountClasses(graph, name, labels, class_ids, weights, classes);
  const Tensor wanted = Tensor::Of<int64_t>({static_cast<int64_t>(targets.size())}, targets);
  const auto value = [=, &graph](Value of) {
    const Value right = DiagonalOf(of, classes);
    const Value either = ops::Sub(ops::AddV2(ops::Sum(of, {0}), ops::Sum(of, {1})), right);
    const Value ids = graph.Constant(wanted, "targets");
    const Value rates = ops::GatherV2(ops::DivNoNan(right, either), ids);
    const Value zero = graph.ScalarOf(DType::kDouble, 0.0);
    const Value there = ops::Cast(ops::NotEqual(ops::GatherV2(either, ids), zero), DType::kDouble);
    return ops::Cast(ops::DivNoNan(ops::Sum(rates), ops::Sum(there)), DType::kFloat);
  };
  return {.value = value(counts.counts), .update = counts.update, .of_batch = [=] {
            return value(counts.batch);
          }};
}

MetricOps ClassRateMetric(Graph& graph, const std::string& name, ClassRate rate, Value labels,
                          Value class_ids, Value weights, int64_t classes,
                          const std::optional<int64_t>& class_id) {
  const NameScope scope(graph, name);
  const ClassCounts counts = CountClasses(graph, name, labels, class_ids, weights, classes);
  const auto value = [=, &graph](Value of) {
    const ClassRates all = RatesOf(of, rate, classes);
    const Value one =
        class_id ? ops::GatherV2(all.rates, graph.Scalar<int64_t>(*class_id))
                 : ops::DivNoNan(ops::Sum(ops::Mul(all.rates, all.there)), ops::Sum(all.there));
    return ops::Cast(one, DType::kFloat);
  };
  return {.value = value(counts.counts), .update = counts.update, .of_batch = [=] {
            return value(counts.batch);
          }};
}

}  // namespace tpuest::nn
