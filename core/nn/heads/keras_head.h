#pragma once
// The head of a compiled model of tf.keras, as model_to_estimator makes it: a loss and metrics for
// each output, predictions by the outputs' names.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"
#include "core/nn/heads/keras_losses.h"

namespace tpuest::nn {

inline constexpr std::string_view kSmoothingHelp =
    "of a crossentropy: labels of 1 and 0 come this much closer together";
inline constexpr std::string_view kAxisHelp =
    "of a crossentropy: axis of the classes, and of cosine_similarity: of the vectors; -1: the "
    "last";
inline constexpr std::string_view kIgnoreClassHelp =
    "of sparse_categorical_crossentropy: examples with this label do not count; null: all count";

// A metric of Model.compile(metrics): the mean of a function, or one of tf.keras.metrics' classes.
// Its keys are Keras' arguments; KerasTakes says which of them fn has.
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
    v("fn", fn,
      {.help = "mse, accuracy, ... as Keras calls them, or AUC, Precision, Recall, "
               "TruePositives, ..., RootMeanSquaredError",
       .required = true});
    v("name", name,
      {.help = "in results; null: fn, and <output>_<fn> where there are several outputs"});
    v("thresholds", thresholds,
      {.help = "of Precision, Recall, TruePositives and its kin: a prediction above it is a "
               "positive, and the result is a list where this is one; null: 0.5, or none with "
               "top_k; of AUC: the thresholds between 0 and 1; null: num_thresholds says them"});
    v("top_k", top_k,
      {.help = "of Precision and Recall: only the k largest predictions of an example may be "
               "positives; null: all"});
    v("class_id", class_id,
      {.help = "of Precision and Recall: the class that it is about; null: all classes"});
    v("threshold", arguments.threshold,
      {.help = "of binary_accuracy: a prediction above it is a positive; of Precision and its kin "
               "it is `thresholds`"});
    v("k", arguments.k, {.help = "of the top_k accuracies"});
    v("from_logits", arguments.from_logits,
      {.help = "of a crossentropy and AUC: predictions are logits, not probabilities"});
    v("label_smoothing", arguments.label_smoothing, {.help = kSmoothingHelp});
    v("axis", arguments.axis, {.help = kAxisHelp});
    v("ignore_class", arguments.ignore_class, {.help = kIgnoreClassHelp});
    v("curve", curve, {.help = "of AUC: area under which curve", .values = {"ROC", "PR"}});
    v("summation_method", summation_method,
      {.help = "of AUC: how the curve runs between points",
       .values = {"interpolation", "minoring", "majoring"}});
    v("num_thresholds", num_thresholds, {.help = "of AUC: points on the curve"});
  }
};

// An output of the model with what Model.compile says of it.
struct KerasOutput {
  std::string name;
  std::optional<std::string> loss;
  double loss_weight = 1.0;
  KerasArguments arguments;
  std::string reduction = "sum_over_batch_size";
  std::optional<std::string> weight_column;
  std::vector<KerasMetric> metrics;
  std::vector<KerasMetric> weighted_metrics;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("name", name,
      {.help = "of the prediction, of its label in a dict, and of the layer where the model's "
               "`outputs` do not say another",
       .required = true});
    v("loss", loss, {.help = "as Keras calls it: mse, ...; null: it is not trained on"});
    v("loss_weight", loss_weight, {.help = "times the loss"});
    v("from_logits", arguments.from_logits, {.help = "of a crossentropy: no probabilities"});
    v("label_smoothing", arguments.label_smoothing, {.help = kSmoothingHelp});
    v("axis", arguments.axis, {.help = kAxisHelp});
    v("ignore_class", arguments.ignore_class, {.help = kIgnoreClassHelp});
    v("delta", arguments.delta, {.help = "of huber, huber_loss: where it turns straight"});
    v("gamma", arguments.gamma, {.help = "of a focal crossentropy: how little sure ones count"});
    v("alpha", arguments.alpha, {.help = "of a focal crossentropy: weight of a class"});
    v("apply_class_balancing", arguments.apply_class_balancing,
      {.help = "of binary_focal_crossentropy: weigh class 1 by alpha, class 0 by the rest"});
    v("reduction", reduction,
      {.help = "sum_over_batch_size: the mean; mean: divided by the weights, as tf.losses has it",
       .values = {"sum_over_batch_size", "sum", "mean", "sum_by_nonzero_weights"}});
    v("weight_column", weight_column,
      {.help = "feature that weighs the examples in the loss and in weighted_metrics, as "
               "sample_weights do; metrics do not look at it"});
    v("metrics", metrics, {.help = "what evaluation reports beside the loss"});
    v("weighted_metrics", weighted_metrics,
      {.help = "metrics in which weight_column weighs the examples"});
  }
};

// The loss is the sum of loss_weight times each output's loss, and the regularization losses;
// results have it and the metrics, nothing else. Signature serving_default: all predictions. Labels
// are one tensor, or a dict by the outputs' names.
struct KerasHead {
  static constexpr std::string_view kType = "compile";
  static constexpr std::string_view kSummary =
      "losses, weights and metrics by output, as Keras' compile() takes them";
  std::vector<KerasOutput> outputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("outputs", outputs, {.help = "of the model, in its order", .required = true});
  }

  // Not known before the layers are built.
  [[nodiscard]] int64_t logits_dimension() const { return 1; }
  // The features that weigh examples, which no layer takes.
  [[nodiscard]] std::set<std::string> weight_columns() const;
  // That of the outputs' losses.
  [[nodiscard]] std::string reduction() const;
  // Throws Error kUsage for outputs and metrics that cannot be.
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
