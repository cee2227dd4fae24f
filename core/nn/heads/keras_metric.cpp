#include "core/nn/heads/keras_metric.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

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

KerasMeasured Seen(const KerasMetric& metric, Value p, Value y) {
  return {.predictions = SeenBy(metric, p, /*is_prediction=*/true),
          .labels = SeenBy(metric, KerasLabels(y, p, ""), /*is_prediction=*/false)};
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

double LeastOf(const KerasMetric& metric, Tradeoff tradeoff) {
  switch (tradeoff) {
    case Tradeoff::kSensitivityAtSpecificity:
      return metric.specificity.value_or(0);
    case Tradeoff::kSpecificityAtSensitivity:
      return metric.sensitivity.value_or(0);
    case Tradeoff::kPrecisionAtRecall:
      return metric.recall.value_or(0);
    case Tradeoff::kRecallAtPrecision:
      return metric.precision.value_or(0);
  }
  return 0;
}

template <Tradeoff tradeoff>
MetricOps AtRate(Graph& graph, const std::string& name, const KerasMetric& metric, Value p, Value y,
                 Value weights) {
  return TradeoffMetric(graph, name, tradeoff, p, y, weights, LeastOf(metric, tradeoff),
                        static_cast<int>(metric.num_thresholds));
}

// ---- F scores -----------------------------------------------------------------------------------

// The predictions as 0 or 1: those above the threshold, or the largest of each example.
KerasMeasured Decided(const KerasMetric& metric, Value p, Value y) {
  if (p.shape().rank() != 2) {
    throw Error(Code::kUsage, fmt::format("{} expects an output [batch, classes], found {}",
                                          metric.fn, p.shape().Text()));
  }
  const Value positive =
      metric.arguments.threshold
          ? ops::Greater(p, p.graph().ScalarOf(DType::kFloat, *metric.arguments.threshold))
          : ops::LogicalAnd(ops::GreaterEqual(p, ops::Max(p, {-1}, /*keep_dims=*/true)),
                            ops::Greater(ops::Abs(p), p.graph().ScalarOf(DType::kFloat, 1e-9)));
  return {.predictions = ops::Cast(positive, DType::kFloat), .labels = KerasLabels(y, p, "")};
}

MetricOps Score(Graph& graph, const std::string& name, const KerasMetric& metric, Value p, Value y,
                Value weights) {
  const std::string average = metric.average.value_or("");
  return FScoreMetric(graph, name, p, y, weights, metric.beta,
                      average == "micro"      ? ScoreAverage::kMicro
                      : average == "macro"    ? ScoreAverage::kMacro
                      : average == "weighted" ? ScoreAverage::kWeighted
                                              : ScoreAverage::kNone);
}

// ---- intersection over union --------------------------------------------------------------------

Value ClassNumbers(Value x, bool is_sparse, int64_t axis) {
  if (is_sparse) return ops::Cast(x, DType::kInt64);
  const int rank = x.shape().rank();
  const auto at = static_cast<int>(axis < 0 ? axis + rank : axis);
  if (at < 1 || at >= rank) {
    throw Error(Code::kUsage,
                fmt::format("axis is {}, but the output has the axes 1 to {} besides the batch",
                            axis, rank - 1));
  }
  return ops::ArgMax(x, at);
}

// The class numbers of predictions and labels; -1 for labels to ignore.
template <bool one_hot>
KerasMeasured Classes(const KerasMetric& metric, Value p, Value y) {
  const bool is_label_sparse = !one_hot && metric.sparse_y_true.value_or(true);
  const bool is_sparse = metric.sparse_y_pred.value_or(!one_hot);
  const int64_t axis = metric.arguments.axis;
  const bool has_numbers = is_label_sparse && !is_sparse;
  const Value given = KerasLabels(y, p, has_numbers ? "sparse_categorical_accuracy" : "");
  Value labels = ClassNumbers(given, is_label_sparse, axis);
  if (metric.arguments.ignore_class) {
    Graph& graph = labels.graph();
    const Value ignored = graph.Scalar<int64_t>(*metric.arguments.ignore_class);
    const Value none = ops::Sub(ops::ZerosLike(labels), ops::OnesLike(labels));
    labels = ops::SelectV2(ops::Equal(labels, ignored), none, labels);
  }
  return {.predictions = ClassNumbers(p, is_sparse, axis), .labels = labels};
}

KerasMeasured TwoClasses(const KerasMetric& metric, Value p, Value y) {
  const Value least =
      p.graph().ScalarOf(DType::kFloat, metric.arguments.threshold.value_or(0.5), "threshold");
  return {.predictions = ops::Cast(ops::GreaterEqual(p, least), DType::kInt64),
          .labels = ops::Cast(KerasLabels(y, p, ""), DType::kInt64)};
}

MetricOps Intersection(Graph& graph, const std::string& name, const KerasMetric& metric, Value p,
                       Value y, Value weights) {
  const int64_t classes = metric.num_classes.value_or(2);
  std::vector<int64_t> all(static_cast<size_t>(classes));
  std::iota(all.begin(), all.end(), int64_t{0});
  return IntersectionOverUnionMetric(graph, name, y, p, weights, classes,
                                     metric.target_class_ids.value_or(all));
}

// ---- means --------------------------------------------------------------------------------------

MetricOps MeanOf(Graph& graph, const std::string& name, const KerasMetric& /*metric*/, Value p,
                 Value /*y*/, Value weights) {
  return MeanMetric(graph, name, p, weights);
}

KerasMeasured Equality(const KerasMetric& /*metric*/, Value p, Value y) {
  return {.predictions = ops::Cast(ops::Equal(p, KerasLabels(y, p, "")), DType::kFloat)};
}

KerasMeasured RelativeErrors(const KerasMetric& metric, Value p, Value y) {
  const Value errors = ops::Abs(ops::Sub(KerasLabels(y, p, ""), p));
  const auto* const list = std::get_if<std::vector<double>>(&*metric.normalizer);
  const std::vector<double> by =
      list != nullptr ? *list : std::vector<double>{std::get<double>(*metric.normalizer)};
  const auto size = static_cast<int64_t>(by.size());
  const int64_t columns = p.shape().dim(-1);
  if (size != 1 && size != columns) {
    throw Error(
        Code::kUsage,
        fmt::format("normalizer has {} numbers, but the output has {} columns", size, columns));
  }
  const Tensor numbers = Tensor::Of<float>({size}, std::vector<float>(by.begin(), by.end()));
  return {.predictions = ops::DivNoNan(errors, p.graph().Constant(numbers, "normalizer"))};
}

}  // namespace

std::vector<double> KerasThresholdsOf(const KerasMetric& metric) {
  if (!metric.thresholds) {
    return {metric.top_k ? kBelowAll : metric.arguments.threshold.value_or(0.5)};
  }
  if (const auto* const one = std::get_if<double>(&*metric.thresholds)) return {*one};
  return std::get<std::vector<double>>(*metric.thresholds);
}

const std::vector<KerasMetricClass>& KerasMetricClasses() {
  static const std::vector<KerasMetricClass> kClasses = {
      {"AUC",
       {"from_logits", "thresholds", "curve", "summation_method", "num_thresholds"},
       {},
       AreaUnderCurve,
       Seen},
      {"Precision",
       {"threshold", "thresholds", "top_k", "class_id"},
       {},
       Rate<ClassRate::kPrecision>,
       Seen},
      {"Recall",
       {"threshold", "thresholds", "top_k", "class_id"},
       {},
       Rate<ClassRate::kRecall>,
       Seen},
      {"TruePositives",
       {"threshold", "thresholds"},
       {},
       Confused<ConfusionCell::kTruePositives>,
       Seen},
      {"TrueNegatives",
       {"threshold", "thresholds"},
       {},
       Confused<ConfusionCell::kTrueNegatives>,
       Seen},
      {"FalsePositives",
       {"threshold", "thresholds"},
       {},
       Confused<ConfusionCell::kFalsePositives>,
       Seen},
      {"FalseNegatives",
       {"threshold", "thresholds"},
       {},
       Confused<ConfusionCell::kFalseNegatives>,
       Seen},
      {"SensitivityAtSpecificity",
       {"specificity", "num_thresholds", "class_id"},
       {"specificity"},
       AtRate<Tradeoff::kSensitivityAtSpecificity>,
       Seen},
      {"SpecificityAtSensitivity",
       {"sensitivity", "num_thresholds", "class_id"},
       {"sensitivity"},
       AtRate<Tradeoff::kSpecificityAtSensitivity>,
       Seen},
      {"PrecisionAtRecall",
       {"recall", "num_thresholds", "class_id"},
       {"recall"},
       AtRate<Tradeoff::kPrecisionAtRecall>,
       Seen},
      {"RecallAtPrecision",
       {"precision", "num_thresholds", "class_id"},
       {"precision"},
       AtRate<Tradeoff::kRecallAtPrecision>,
       Seen},
      {"F1Score", {"average", "threshold"}, {}, Score, Decided},
      {"FBetaScore", {"average", "beta", "threshold"}, {}, Score, Decided},
      {"IoU",
       {"num_classes", "target_class_ids", "sparse_y_true", "ignore_class", "sparse_y_pred",
        "axis"},
       {"num_classes", "target_class_ids"},
       Intersection,
       Classes<false>},
      {"MeanIoU",
       {"num_classes", "sparse_y_true", "ignore_class", "sparse_y_pred", "axis"},
       {"num_classes"},
       Intersection,
       Classes<false>},
      {"OneHotIoU",
       {"num_classes", "target_class_ids", "ignore_class", "sparse_y_pred", "axis"},
       {"num_classes", "target_class_ids"},
       Intersection,
       Classes<true>},
      {"OneHotMeanIoU",
       {"num_classes", "ignore_class", "sparse_y_pred", "axis"},
       {"num_classes"},
       Intersection,
       Classes<true>},
      {"BinaryIoU", {"target_class_ids", "threshold"}, {}, Intersection, TwoClasses},
      {"Accuracy", {}, {}, MeanOf, Equality},
      {"MeanRelativeError", {"normalizer"}, {"normalizer"}, MeanOf, RelativeErrors},
      {"RootMeanSquaredError",
       {},
       {},
       [](Graph& graph, const std::string& name, const KerasMetric&, Value p, Value y,
          Value weights) { return RootMeanSquaredErrorMetric(graph, name, p, y, weights); },
       Seen},
      {"R2Score",
       {},
       {},
       [](Graph& graph, const std::string& name, const KerasMetric&, Value p, Value y,
          Value weights) { return R2ScoreMetric(graph, name, p, y, weights); },
       Seen}};
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
