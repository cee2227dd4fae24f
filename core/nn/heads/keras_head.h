#pragma once
// The head of a compiled model of tf.keras, as model_to_estimator makes it: a loss and metrics for
// each output, predictions named after the outputs.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/visit.h"
#include "core/nn/heads/head.h"
#include "core/nn/heads/keras_losses.h"
#include "core/nn/heads/keras_metric.h"

namespace tpuest::nn {

// An output of the model with its part of Model.compile's arguments.
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
      {.help = "name of the prediction, and of its label in a dict; also of the layer, unless the "
               "model's `outputs` names another",
       .required = true});
    v("loss", loss,
      {.help = "loss by Keras' name, such as mse; `null` leaves this output out of training"});
    v("loss_weight", loss_weight, {.help = "factor of the loss"});
    v("from_logits", arguments.from_logits,
      {.help = "of crossentropies: `true` if predictions are logits instead of probabilities"});
    v("label_smoothing", arguments.label_smoothing, {.help = kSmoothingHelp});
    v("axis", arguments.axis, {.help = kAxisHelp});
    v("ignore_class", arguments.ignore_class, {.help = kIgnoreClassHelp});
    v("delta", arguments.delta,
      {.help = "of huber and huber_loss: the error at which the loss becomes linear"});
    v("gamma", arguments.gamma,
      {.help =
           "of focal crossentropies: exponent that reduces the weight of confident predictions"});
    v("alpha", arguments.alpha, {.help = "of focal crossentropies: weight of a class"});
    v("apply_class_balancing", arguments.apply_class_balancing,
      {.help = "of binary_focal_crossentropy: weigh class 1 by alpha and class 0 by 1 - alpha"});
    v("reduction", reduction,
      {.help = "`sum_over_batch_size` is the mean over the batch; `mean` divides by the weights, "
               "as tf.losses does",
       .values = {"sum_over_batch_size", "sum", "mean", "sum_by_nonzero_weights"}});
    v("weight_column", weight_column,
      {.help = "feature that holds the weights of examples in the loss and weighted_metrics, as "
               "sample_weights do; metrics ignore it"});
    v("metrics", metrics, {.help = "metrics to report in evaluations, besides the loss"});
    v("weighted_metrics", weighted_metrics, {.help = "metrics weighted by weight_column"});
  }
};

// The loss is the sum of loss_weight times each output's loss, plus the regularization losses;
// results contain it and the metrics only. Signature serving_default: all predictions. Labels are
// one tensor, or a dict by output name.
struct KerasHead {
  static constexpr std::string_view kType = "compile";
  static constexpr std::string_view kSummary =
      "losses, weights and metrics by output, as the arguments of Keras' compile()";
  std::vector<KerasOutput> outputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("outputs", outputs, {.help = "outputs of the model, in its order", .required = true});
  }

  // Returns 1: the dimension is not known before the layers are built.
  [[nodiscard]] int64_t logits_dimension() const { return 1; }
  // The features that weight examples; no layer reads them.
  [[nodiscard]] std::set<std::string> weight_columns() const;
  // The reduction of the outputs' losses.
  [[nodiscard]] std::string reduction() const;
  // Throws Error kUsage for invalid outputs and metrics.
  void CheckOptions() const;
  [[nodiscard]] HeadOutputs Build(const HeadInputs& inputs) const;
};

}  // namespace tpuest::nn
