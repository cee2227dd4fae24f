#include "core/nn/heads/keras_metric.h"

#include <algorithm>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

// A shape whose first dimension is whatever is left.
Shape BatchFirst(const Shape& shape) {
  std::vector<int64_t> dims = {-1};
  for (int axis = 1; axis < shape.rank(); ++axis) dims.push_back(shape.dim(axis));
  return Shape(dims);
}

// The predictions, or labels, that a metric measures: those of one class, and of predictions the
// largest.
Value SeenBy(const KerasMetric& metric, Value x, bool is_prediction) {
  const Shape& shape = x.shape();
  const int64_t classes = shape.dim(-1);
  if (is_prediction && metric.top_k) {
    if (*metric.top_k < 1 || *metric.top_k > classes) {
      throw Error(Code::kUsage, fmt::format("top_k is {}, but the output has {} classes",
                                            *metric.top_k, classes));
    }
    const Value rows = shape.rank() == 2 ? x : ops::Reshape(x, Shape{-1, classes});
    const Value kept = KeepTopK(rows, *metric.top_k);
    x = shape.rank() == 2 ? kept : ops::Reshape(kept, BatchFirst(shape));
  }
  if (!metric.class_id) return x;
  if (*metric.class_id < 0 || *metric.class_id >= classes) {
    throw Error(Code::kUsage,
                fmt::format("class_id is {}, expected 0 to {}", *metric.class_id, classes - 1));
  }
  return ops::GatherV2(x, x.graph().Constant(Tensor::Of<int64_t>({1}, {*metric.class_id}), "class"),
                       shape.rank() - 1);
}

template <ConfusionCell cell>
MetricOps Confused(Graph& graph, const std::string& name, const KerasMetric& metric, Value p,
                   Value y, Value weights) {
  return ConfusionMetric(graph, name, cell, p, y, weights, KerasThresholdsOf(metric));
}

template <ClassRate rate>
MetricOps Rate(Graph& graph, const std::string& name, const KerasMetric& metric, Value p, Value y,
               Value weights) {
  return RateAtThresholdsMetric(graph, name, rate, p, y, weights, KerasThresholdsOf(metric));
}

MetricOps AreaUnderCurve(Graph& graph, const std::string& name, const KerasMetric& metric, Value p,
                         Value y, Value weights) {
  const AucSummation summation = metric.summation_method == "minoring" ? AucSummation::kMinoring
                                 : metric.summation_method == "majoring"
                                     ? AucSummation::kMajoring
                                     : AucSummation::kInterpolation;
  return AucMetric(
      graph, name, metric.arguments.from_logits ? ops::Sigmoid(p) : p, y, weights,
      {.curve = metric.curve == "PR" ? AucCurve::kPr : AucCurve::kRoc,
       .summation = summation,
       .num_thresholds = static_cast<int>(metric.num_thresholds),
       .thresholds = metric.thresholds ? KerasThresholdsOf(metric) : std::vector<double>()});
}

}  // namespace

std::vector<double> KerasThresholdsOf(const KerasMetric& metric) {
  if (!metric.thresholds) return {metric.top_k ? kBelowAll : metric.arguments.threshold};
  if (const auto* const one = std::get_if<double>(&*metric.thresholds)) return {*one};
  return std::get<std::vector<double>>(*metric.thresholds);
}

const std::vector<KerasMetricClass>& KerasMetricClasses() {
  static const std::vector<KerasMetricClass> kClasses = {
      {"AUC",
       {"from_logits", "thresholds", "curve", "summation_method", "num_thresholds"},
       AreaUnderCurve,
       SeenBy},
      {"Precision",
       {"threshold", "thresholds", "top_k", "class_id"},
       Rate<ClassRate::kPrecision>,
       SeenBy},
      {"Recall",
       {"threshold", "thresholds", "top_k", "class_id"},
       Rate<ClassRate::kRecall>,
       SeenBy},
      {"R2Score",
       {},
       [](Graph& graph, const std::string& name, const KerasMetric&, Value p, Value y,
          Value weights) { return R2ScoreMetric(graph, name, p, y, weights); },
       SeenBy},
      {"RootMeanSquaredError",
       {},
       [](Graph& graph, const std::string& name, const KerasMetric&, Value p, Value y,
          Value weights) { return RootMeanSquaredErrorMetric(graph, name, p, y, weights); },
       SeenBy},
      {"TruePositives",
       {"threshold", "thresholds"},
       Confused<ConfusionCell::kTruePositives>,
       SeenBy},
      {"TrueNegatives",
       {"threshold", "thresholds"},
       Confused<ConfusionCell::kTrueNegatives>,
       SeenBy},
      {"FalsePositives",
       {"threshold", "thresholds"},
       Confused<ConfusionCell::kFalsePositives>,
       SeenBy},
      {"FalseNegatives",
       {"threshold", "thresholds"},
       Confused<ConfusionCell::kFalseNegatives>,
       SeenBy}};
  return kClasses;
}

const KerasMetricClass* FindKerasMetricClass(std::string_view name) {
  for (const KerasMetricClass& one : KerasMetricClasses()) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

bool KerasMetricClass::Takes(std::string_view argument) const {
  return std::find(arguments.begin(), arguments.end(), argument) != arguments.end();
}

std::string_view KerasMetricHelp() {
  static const std::string kHelp = [] {
    std::vector<std::string> names;
    for (const KerasMetricClass& one : KerasMetricClasses()) names.emplace_back(one.name);
    return "metric by Keras' name, such as mse or accuracy; or " + Join(names, ", ");
  }();
  return kHelp;
}

}  // namespace tpuest::nn
