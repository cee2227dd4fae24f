#pragma once
// A metric of a compiled model, and the classes of tf.keras.metrics that are more than the mean of
// a function. Jobs, checks, import and export read the names and arguments of the classes here.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/nn/heads/keras_losses.h"
#include "core/nn/metrics/metrics.h"

namespace tpuest::nn {

inline constexpr std::string_view kSmoothingHelp =
    "of crossentropies: amount by which labels 1 and 0 move towards each other";
inline constexpr std::string_view kAxisHelp =
    "of crossentropies: axis of the classes; of cosine_similarity: axis of the vectors; -1 is the "
    "last axis";
inline constexpr std::string_view kIgnoreClassHelp =
    "of sparse_categorical_crossentropy: label of examples to ignore; `null` ignores none";

// The help text of KerasMetric::fn, which names the classes.
[[nodiscard]] std::string_view KerasMetricHelp();

// A metric of Model.compile(metrics): the mean of a function, or a class of tf.keras.metrics. Its
// keys are Keras' arguments; KerasTakes tells which of them a function has.
struct KerasMetric {
  std::string fn;
  std::optional<std::string> name;
  KerasArguments arguments;
  std::optional<std::variant<double, std::vector<double>>> thresholds;
  std::optional<int64_t> top_k;
  std::optional<int64_t> class_id;
  std::string curve = "ROC";
  std::string summation_method = "interpolation";
  int64_t num_thresholds = 200;
  std::optional<double> specificity;
  std::optional<double> sensitivity;
  std::optional<double> precision;
  std::optional<double> recall;
  std::optional<std::string> average;
  double beta = 1.0;
  std::optional<int64_t> num_classes;
  std::optional<std::vector<int64_t>> target_class_ids;
  std::optional<bool> sparse_y_true;
  std::optional<bool> sparse_y_pred;
  std::optional<std::variant<double, std::vector<double>>> normalizer;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("fn", fn, {.help = KerasMetricHelp(), .required = true});
    v("name", name,
      {.help = "name in results; `null` is fn, or <output>_<fn> if there are several outputs"});
    v("thresholds", thresholds,
      {.help =
           "of Precision, Recall, TruePositives and similar: a prediction above the threshold is "
           "positive; a list gives one result per threshold; `null` is 0.5, or none with top_k. "
           "AUC takes thresholds between 0 and 1; there `null` derives them from num_thresholds"});
    v("top_k", top_k,
      {.help = "of Precision and Recall: count only the k largest predictions of an example as "
               "positive; `null` counts all"});
    v("class_id", class_id,
      {.help =
           "of Precision, Recall and the metrics at a given rate, such as PrecisionAtRecall: the "
           "class to measure; `null` measures all classes"});
    v("threshold", arguments.threshold,
      {.help = "of binary_accuracy, BinaryIoU, F1Score and FBetaScore: a prediction above it is "
               "positive; `null` is 0.5, or for F scores the largest prediction of an example. "
               "Precision and similar use `thresholds`"});
    v("k", arguments.k, {.help = "of top_k accuracies: number of predictions to consider"});
    v("from_logits", arguments.from_logits,
      {.help =
           "of crossentropies and AUC: `true` if predictions are logits instead of probabilities"});
    v("label_smoothing", arguments.label_smoothing, {.help = kSmoothingHelp});
    v("axis", arguments.axis,
      {.help = "of crossentropies and IoU metrics: axis of the classes; of cosine_similarity: axis "
               "of the vectors; -1 is the last axis"});
    v("ignore_class", arguments.ignore_class,
      {.help = "of sparse_categorical_crossentropy and IoU metrics: label of examples to ignore; "
               "`null` ignores none"});
    v("curve", curve,
      {.help = "of AUC: the curve under which to measure the area", .values = {"ROC", "PR"}});
    v("summation_method", summation_method,
      {.help = "of AUC: how to interpolate between points",
       .values = {"interpolation", "minoring", "majoring"}});
    v("num_thresholds", num_thresholds,
      {.help = "of AUC: number of points on the curve; of SensitivityAtSpecificity and similar: "
               "number of thresholds to try"});
    v("specificity", specificity,
      {.help = "of SensitivityAtSpecificity: the least specificity, 0 to 1"});
    v("sensitivity", sensitivity,
      {.help = "of SpecificityAtSensitivity: the least sensitivity, 0 to 1"});
    v("precision", precision, {.help = "of RecallAtPrecision: the least precision, 0 to 1"});
    v("recall", recall, {.help = "of PrecisionAtRecall: the least recall, 0 to 1"});
    v("average", average,
      {.help = "of F1Score and FBetaScore: `micro` counts over all classes, `macro` is the mean of "
               "the classes' scores, `weighted` weighs that mean by the classes' labels; `null` "
               "gives one score per class",
       .values = {"micro", "macro", "weighted"}});
    v("beta", beta, {.help = "of FBetaScore: weight of recall relative to precision"});
    v("num_classes", num_classes,
      {.help = "of IoU, MeanIoU, OneHotIoU and OneHotMeanIoU: number of classes"});
    v("target_class_ids", target_class_ids,
      {.help = "of IoU, OneHotIoU and BinaryIoU: the classes over which to average; `null` is "
               "[0, 1] for BinaryIoU, and an error for the other two"});
    v("sparse_y_true", sparse_y_true,
      {.help =
           "of IoU and MeanIoU: `true` (or `null`) if labels are class numbers, `false` if they "
           "are one number per class"});
    v("sparse_y_pred", sparse_y_pred,
      {.help = "of IoU metrics: `true` if predictions are class numbers, `false` if they are one "
               "number per class; `null` is true for IoU and MeanIoU, false for OneHotIoU and "
               "OneHotMeanIoU"});
    v("normalizer", normalizer,
      {.help = "of MeanRelativeError: number by which to divide each error, or a list with one "
               "number per column of the output; an error divided by 0 counts as 0"});
  }
};

// The values that a metric measures, [batch, ...]. `labels` is not valid() if `predictions` hold
// the values whose mean is the metric.
struct KerasMeasured {
  Value predictions;
  Value labels;
};

// A class of tf.keras.metrics.
struct KerasMetricClass {
  std::string_view name;
  std::vector<std::string_view> arguments;
  std::vector<std::string_view> required;  // by Keras' constructor
  // Predictions and labels are those of `measured` as [batch, n]; `weights` may be not valid().
  MetricOps (*build)(Graph& graph, const std::string& name, const KerasMetric& metric,
                     Value predictions, Value labels, Value weights);

  // `predictions` are an output's [batch, ..., D], `labels` are as the input_fn gives them. Throws
  // Error kUsage for arguments or labels that do not fit the output.
  KerasMeasured (*measured)(const KerasMetric& metric, Value predictions, Value labels);

  [[nodiscard]] bool Takes(std::string_view argument) const;
};

[[nodiscard]] const std::vector<KerasMetricClass>& KerasMetricClasses();
// Returns nullptr if `name` is not a class.
[[nodiscard]] const KerasMetricClass* FindKerasMetricClass(std::string_view name);

// Throws at the metric's place if there is no such metric, or for arguments that Keras refuses.
void CheckKerasMetric(const KerasMetric& metric);

// The thresholds of a metric of positives.
[[nodiscard]] std::vector<double> KerasThresholdsOf(const KerasMetric& metric);

}  // namespace tpuest::nn
