#pragma once
// A model as a list of layers and a head: tf.keras.Sequential in a job.

#include <optional>
#include <string>
#include <vector>

#include "core/nn/layers/layers.h"
#include "models/build_spec.h"

namespace tpuest::models {

// Applies layers to one feature (a head's weight column does not count); the last one gives the
// logits. Build throws Error kUsage for an empty list, and for errors of a layer.
struct Sequential {
  static constexpr std::string_view kType = "Sequential";
  static constexpr std::string_view kSummary =
      "a sequence of layers and a head, written in the job";
  std::vector<nn::Layer> layers;
  nn::AnyHead head;
  std::optional<nn::PremadeOptimizer> optimizer;
  std::vector<nn::ExtraMetric> metrics;
  nn::L2WeightDecay l2_weight_decay = 0.0;
  std::vector<std::string> trainable = {".*"};
  std::string precision = "float32";
  Place place;

  template <class V>
  void Visit(V& v) {
    v("layers", layers, {.help = "layers from the feature to the logits", .required = true});
    v("head", head, {.help = "head that computes loss, predictions and metrics", .required = true});
    v("optimizer", optimizer, {.help = kOwnOptimizerHelp});
    v("metrics", metrics,
      {.help = "metrics to add to those of the head; the same name replaces one"});
    v("l2_weight_decay", l2_weight_decay,
      {.help = "adds half the squared weights times this rate to the loss", .tpuest = true});
    v("trainable", trainable,
      {.help = "patterns of variables to train; all others are frozen, in inference mode",
       .tpuest = true});
    v("precision", precision,
      {.help = kPrecisionHelp, .tpuest = true, .values = {"float32", "bfloat16"}});
  }

  [[nodiscard]] const nn::AnyHead& Head() const { return head; }
  [[nodiscard]] TPUEstimatorSpec Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const;
};

}  // namespace tpuest::models
