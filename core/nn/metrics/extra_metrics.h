#pragma once
// Metrics that a job adds by name: `metrics: [accuracy, {type: recall_at_k, k: 5}]`.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/formula_text.h"
#include "core/base/visit.h"
#include "core/nn/formula/formula.h"
#include "core/nn/metrics/metrics.h"

namespace tpuest::nn {

inline constexpr std::string_view kMetricNameHelp = "name in results; default: the type";

// Formulas (core/nn/formula/formula.h) that replace the values that a metric compares. They read
// `labels`, `logits`, the head's other tensors and features, and give one row per example.
struct MetricFormulas {
  Formula labels = {};
  Formula predictions = {};
  Formula weights = {};

  [[nodiscard]] std::vector<const Formula*> all() const {
    std::vector<const Formula*> given;
    for (const Formula* const formula : {&labels, &predictions, &weights}) {
      if (!formula->empty()) given.push_back(formula);
    }
    return given;
  }
};

// Visits the formulas and the name of a metric that compares labels and predictions.
template <class V, class Options>
void VisitMetric(V& v, Options& options, std::string_view name) {
  v("labels", options.of.labels, {.help = "formula of the labels; default: the head's labels"});
  v("predictions", options.of.predictions,
    {.help = "formula of the predictions; default: those of the head"});
  v("weights", options.of.weights, {.help = "formula of the examples' weights"});
  v("name", options.name, {.help = name});
}

// Metrics whose only own option is a name: the mean of "label equals class_ids", and of the named
// error of predictions.
enum class PlainMetric {
  kAccuracy,
  kMeanAbsoluteError,
  kMeanSquaredError,
  kRootMeanSquaredError,
  kR2Score
};
[[nodiscard]] constexpr std::string_view NameOf(PlainMetric metric) {
  constexpr std::string_view kNames[] = {"accuracy", "mean_absolute_error", "mean_squared_error",
                                         "root_mean_squared_error", "r2_score"};
  return kNames[static_cast<int>(metric)];
}
[[nodiscard]] constexpr std::string_view SummaryOf(PlainMetric metric) {
  constexpr std::string_view kSummaries[] = {
      "fraction of examples whose label is the predicted class", "mean of |label - prediction|",
      "mean of (label - prediction) squared", "root of the mean of (label - prediction) squared",
      "coefficient of determination: 1 at best, 0 for predicting the mean"};
  return kSummaries[static_cast<int>(metric)];
}

template <PlainMetric metric>
struct PlainOptions {
  static constexpr std::string_view kType = NameOf(metric);
  static constexpr std::string_view kSummary = SummaryOf(metric);
  std::string name{kType};
  MetricFormulas of = {};
  Place place;
  template <class V>
  void Visit(V& v) {
    VisitMetric(v, *this, kMetricNameHelp);
  }
};
using AccuracyOptions = PlainOptions<PlainMetric::kAccuracy>;
using MeanAbsoluteErrorOptions = PlainOptions<PlainMetric::kMeanAbsoluteError>;
using MeanSquaredErrorOptions = PlainOptions<PlainMetric::kMeanSquaredError>;
using RootMeanSquaredErrorOptions = PlainOptions<PlainMetric::kRootMeanSquaredError>;
using R2ScoreOptions = PlainOptions<PlainMetric::kR2Score>;

// Metrics that compare probabilities with a threshold.
enum class ThresholdMetric { kPrecision, kRecall, kBinaryAccuracy };
[[nodiscard]] constexpr std::string_view NameOf(ThresholdMetric metric) {
  constexpr std::string_view kNames[] = {"precision", "recall", "binary_accuracy"};
  return kNames[static_cast<int>(metric)];
}
[[nodiscard]] constexpr std::string_view SummaryOf(ThresholdMetric metric) {
  constexpr std::string_view kSummaries[] = {
      "fraction of predicted positives that are positive",
      "fraction of positives that are predicted as positive",
      "fraction of examples on the correct side of the threshold"};
  return kSummaries[static_cast<int>(metric)];
}
[[nodiscard]] constexpr std::string_view NameOf(ConfusionCell cell) {
  constexpr std::string_view kNames[] = {"true_positives", "true_negatives", "false_positives",
                                         "false_negatives"};
  return kNames[static_cast<int>(cell)];
}
[[nodiscard]] constexpr std::string_view SummaryOf(ConfusionCell cell) {
  constexpr std::string_view kSummaries[] = {
      "number of positives predicted as positive", "number of negatives predicted as negative",
      "number of negatives predicted as positive", "number of positives predicted as negative"};
  return kSummaries[static_cast<int>(cell)];
}

// Whether a two-class metric also works for several classes.
[[nodiscard]] constexpr bool IsOfSeveral(ThresholdMetric metric) {
  return metric != ThresholdMetric::kBinaryAccuracy;
}
[[nodiscard]] constexpr bool IsOfSeveral(ConfusionCell /*cell*/) { return false; }

// Options of a threshold metric; `metric` is a ThresholdMetric or a ConfusionCell.
template <auto metric>
struct ThresholdOptions {
  static constexpr std::string_view kType = NameOf(metric);
  static constexpr std::string_view kSummary = SummaryOf(metric);
  double threshold = 0.5;
  std::optional<int64_t> class_id;  // for precision and recall only
  std::string name{kType};
  MetricFormulas of = {};
  Place place;
  template <class V>
  void Visit(V& v) {
    v("threshold", threshold, {.help = "probability above which a prediction is positive"});
    if constexpr (IsOfSeveral(metric)) {
      v("class_id", class_id,
        {.help = "of MultiClassHead: the class to measure; `null` averages over the classes that "
                 "occur in labels or predictions"});
    }
    VisitMetric(v, *this, kMetricNameHelp);
  }
};
using PrecisionOptions = ThresholdOptions<ThresholdMetric::kPrecision>;
using RecallOptions = ThresholdOptions<ThresholdMetric::kRecall>;
using BinaryAccuracyOptions = ThresholdOptions<ThresholdMetric::kBinaryAccuracy>;
template <ConfusionCell cell>
using ConfusionOptions = ThresholdOptions<cell>;

// The fraction of examples whose label is among the k classes of highest score.
struct RecallAtKOptions {
  static constexpr std::string_view kType = "recall_at_k";
  static constexpr std::string_view kSummary =
      "fraction of examples whose label is among the k classes of highest score";
  static constexpr std::string_view kAliases[] = {"in_top_k", "top_k_categorical_accuracy"};
  int64_t k = 0;
  std::string name;
  MetricFormulas of = {};
  Place place;
  template <class V>
  void Visit(V& v) {
    v("k", k, {.help = "number of classes to consider", .required = true});
    VisitMetric(v, *this, "in results; default: recall_at_<k>");
  }
};

// A confusion matrix of labels and predicted classes: ConfusionMatrixMetric.
struct ConfusionMatrixOptions {
  static constexpr std::string_view kType = "confusion_matrix";
  static constexpr std::string_view kSummary =
      "number of examples of each class (row) that are predicted as each class (column)";
  std::optional<int64_t> num_classes;
  std::string name{kType};
  MetricFormulas of = {};
  Place place;
  template <class V>
  void Visit(V& v) {
    v("num_classes", num_classes, {.help = "number of classes; `null` takes the head's"});
    VisitMetric(v, *this, kMetricNameHelp);
  }
};

// The area under a curve: AucMetric.
struct AucOptions {
  static constexpr std::string_view kType = "auc";
  static constexpr std::string_view kSummary = "area under the ROC or precision-recall curve";
  std::string curve = "ROC";
  int64_t num_thresholds = 200;
  std::string summation_method = "interpolation";
  std::string name = "auc";
  MetricFormulas of = {};
  Place place;
  template <class V>
  void Visit(V& v) {
    v("curve", curve,
      {.help = "the curve under which to measure the area", .values = {"ROC", "PR"}});
    v("num_thresholds", num_thresholds, {.help = "number of points on the curve"});
    v("summation_method", summation_method,
      {.help = "how to interpolate between points",
       .values = {"interpolation", "minoring", "majoring", "trapezoidal"}});
    VisitMetric(v, *this, kMetricNameHelp);
  }
};

// The mean of one of the head's tensors, or of a formula's value, weighted by the examples'
// weights.
struct MeanOptions {
  static constexpr std::string_view kType = "mean";
  static constexpr std::string_view kSummary = "mean of one of the head's tensors, or of a formula";
  std::string values;
  std::string name;
  Formula value = {};
  MetricFormulas of = {};
  Place place;
  template <class V>
  void Visit(V& v) {
    v("values", values,
      {.help = "the head's tensor to average; \"\" averages `value`",
       .values = {"", "labels", "logits", "predictions", "probabilities", "logistic",
                  "class_ids"}});
    v("value", value, {.help = "formula to average"});
    v("weights", of.weights, {.help = "formula of the examples' weights"});
    v("name", name, {.help = "name in results; default: <values>/mean, or mean"});
  }
};

// The words for a trade-off in a job: `type`, and the key of the value that the other rate must
// reach.
struct TradeoffNames {
  std::string_view type;
  std::string_view least;  // key of the value that the other rate must reach or come nearest to
  std::string_view help;
  std::string_view summary;
};
[[nodiscard]] constexpr TradeoffNames NamesOf(Tradeoff tradeoff) {
  constexpr std::string_view kNear = "value to come nearest to, in [0, 1]";
  constexpr std::string_view kLeast = "smallest allowed value, in [0, 1]";
  constexpr TradeoffNames kNames[] = {
      {"sensitivity_at_specificity", "specificity", kNear,
       "sensitivity at the threshold whose specificity is nearest to a value"},
      {"specificity_at_sensitivity", "sensitivity", kNear,
       "specificity at the threshold whose sensitivity is nearest to a value"},
      {"precision_at_recall", "recall", kLeast, "best precision at a given recall"},
      {"recall_at_precision", "precision", kLeast, "best recall at a given precision"}};
  return kNames[static_cast<int>(tradeoff)];
}

template <Tradeoff tradeoff>
struct TradeoffOptions {
  static constexpr std::string_view kType = NamesOf(tradeoff).type;
  static constexpr std::string_view kSummary = NamesOf(tradeoff).summary;
  double least = 0;
  int64_t num_thresholds = 200;
  std::string name{kType};
  MetricFormulas of = {};
  Place place;
  template <class V>
  void Visit(V& v) {
    v(NamesOf(tradeoff).least, least, {.help = NamesOf(tradeoff).help, .required = true});
    v("num_thresholds", num_thresholds, {.help = "number of thresholds to search"});
    VisitMetric(v, *this, kMetricNameHelp);
  }
};

using ExtraMetric =
    std::variant<AccuracyOptions, RecallAtKOptions, MeanAbsoluteErrorOptions,
                 MeanSquaredErrorOptions, RootMeanSquaredErrorOptions, R2ScoreOptions,
                 ConfusionMatrixOptions, MeanOptions, AucOptions, PrecisionOptions, RecallOptions,
                 BinaryAccuracyOptions, ConfusionOptions<ConfusionCell::kTruePositives>,
                 ConfusionOptions<ConfusionCell::kTrueNegatives>,
                 ConfusionOptions<ConfusionCell::kFalsePositives>,
                 ConfusionOptions<ConfusionCell::kFalseNegatives>,
                 TradeoffOptions<Tradeoff::kSensitivityAtSpecificity>,
                 TradeoffOptions<Tradeoff::kSpecificityAtSensitivity>,
                 TradeoffOptions<Tradeoff::kPrecisionAtRecall>,
                 TradeoffOptions<Tradeoff::kRecallAtPrecision>>;

// The names that the metrics' formulas read.
[[nodiscard]] std::vector<std::string> NamesInMetrics(const std::vector<ExtraMetric>& extra);

// The key of a feature in a metric's tensors.
[[nodiscard]] std::string FeatureKey(const std::string& feature);

// The names that formulas of metrics may use: the head's tensors, then features. A tensor hides a
// feature of the same name.
[[nodiscard]] FormulaNames MetricFormulaNames(const Tensors& tensors);

// Returns the metrics' builders by name. `tensors` are those of the head, and the features that
// formulas name. Throws Error kUsage, at the metric's place, if the head lacks what the metric
// reads, two metrics have one name, or arguments are invalid.
[[nodiscard]] MetricBuilders ExtraMetricBuilders(const std::vector<ExtraMetric>& extra,
                                                 const Tensors& tensors);

}  // namespace tpuest::nn
