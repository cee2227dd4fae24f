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
  Place place;

  template <class V>
  void Visit(V& v) {
    v("fn", fn, {.help = KerasMetricHelp(), .required = true});
    v("name", name,
      {.help = "name in results; `null` is fn, or <output>_<fn> if there are several outputs"});
    v("thresholds", thresholds,
      {.help =
           "of Precision, Recall, TruePositives and similar: a prediction above the threshold is "
           "positive; a list gives one result per threshold; `null` is 0.5, or none with top_k. Of "
           "AUC: thresholds between 0 and 1; `null` derives them from num_thresholds"});
    v("top_k", top_k,
      {.help = "of Precision and Recall: count only the k largest predictions of an example as "
               "positive; `null` counts all"});
    v("class_id", class_id,
      {.help = "of Precision and Recall: the class to measure; `null` measures all classes"});
    v("threshold", arguments.threshold,
      {.help = "of binary_accuracy: a prediction above it is positive; Precision and similar use "
               "`thresholds`"});
    v("k", arguments.k, {.help = "of top_k accuracies: number of predictions to consider"});
    v("from_logits", arguments.from_logits,
      {.help =
           "of crossentropies and AUC: `true` if predictions are logits instead of probabilities"});
    v("label_smoothing", arguments.label_smoothing, {.help = kSmoothingHelp});
    v("axis", arguments.axis, {.help = kAxisHelp});
    v("ignore_class", arguments.ignore_class, {.help = kIgnoreClassHelp});
    v("curve", curve,
      {.help = "of AUC: the curve under which to measure the area", .values = {"ROC", "PR"}});
    v("summation_method", summation_method,
      {.help = "of AUC: how to interpolate between points",
       .values = {"interpolation", "minoring", "majoring"}});
    v("num_thresholds", num_thresholds, {.help = "of AUC: number of points on the curve"});
  }
};

// A class of tf.keras.metrics.
struct KerasMetricClass {
  std::string_view name;
  std::vector<std::string_view> arguments;
  // Predictions and labels are [batch, n]; `weights` may be not valid().
  MetricOps (*build)(Graph& graph, const std::string& name, const KerasMetric& metric,
                     Value predictions, Value labels, Value weights);

  // Returns the predictions or labels that the metric measures, of an output's [batch, ..., D].
  // Throws Error kUsage for a class that the output does not have.
  Value (*seen)(const KerasMetric& metric, Value x, bool is_prediction);

  [[nodiscard]] bool Takes(std::string_view argument) const;
};

[[nodiscard]] const std::vector<KerasMetricClass>& KerasMetricClasses();
// Returns nullptr if `name` is not a class.
[[nodiscard]] const KerasMetricClass* FindKerasMetricClass(std::string_view name);

// The thresholds of a metric of positives.
[[nodiscard]] std::vector<double> KerasThresholdsOf(const KerasMetric& metric);

}  // namespace tpuest::nn
