#pragma once
// A model as a graph of layers and a head: tf.keras.Model(inputs, outputs) in a job.

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/nn/layers/layers.h"
#include "models/build_spec.h"

namespace tpuest::models {

// The layers that give the logits: the last one, the one of that name, or one for each of a
// MultiHead's heads, by the head's name.
using OutputNames = std::variant<std::string, std::map<std::string, std::string>>;

// Applies layers in their order; each takes what the features and the layers above it give, by name
// (core/nn/layers/network.h). A layer at the head that names no input takes the only feature; a
// head's weight column does not count. Build throws Error kUsage where there is no layer, for a
// name that there is not, and for what a layer refuses.
struct Functional {
  static constexpr std::string_view kType = "Functional";
  static constexpr std::string_view kSummary =
      "layers as a graph, by name, and a head, written in the job";
  std::vector<nn::Layer> layers;
  std::vector<std::string> inputs;
  std::vector<int64_t> input_shape;
  OutputNames outputs;
  std::string weights;
  nn::AnyHead head;
  std::optional<nn::PremadeOptimizer> optimizer;
  std::vector<nn::ExtraMetric> metrics;
  nn::L2WeightDecay l2_weight_decay = 0.0;
  std::vector<std::string> trainable = {".*"};
  std::string precision = "float32";
  Place place;

  template <class V>
  void Visit(V& v) {
    v("layers", layers, {.help = "from the features to the logits", .required = true});
    v("inputs", inputs,
      {.help = "names of the features as the layers know them; []: all that there are. One feature "
               "alone may have any name"});
    v("input_shape", input_shape,
      {.help = "of an example, which is held to it; -1: any side; []: any"});
    v("outputs", outputs,
      {.help = "the layer that gives the logits, or one for each head by its name; default: the "
               "last"});
    v("weights", weights,
      {.help = "file of Keras' whose weights a run starts with: .h5, .keras, .weights.h5",
       .input_path = true});
    v("head", head, {.help = "loss, predictions and metrics", .required = true});
    v("optimizer", optimizer, {.help = kOwnOptimizerHelp});
    v("metrics", metrics, {.help = "further metrics, or others of the same name"});
    v("l2_weight_decay", l2_weight_decay,
      {.help = "times half the squared weights, added to the loss", .tpuest = true});
    v("trainable", trainable,
      {.help = "patterns of variables; the rest is frozen, in inference mode", .tpuest = true});
    v("precision", precision,
      {.help = kPrecisionHelp, .tpuest = true, .values = {"float32", "bfloat16"}});
  }

  [[nodiscard]] const nn::AnyHead& Head() const { return head; }
  [[nodiscard]] TPUEstimatorSpec Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const;
};

}  // namespace tpuest::models
