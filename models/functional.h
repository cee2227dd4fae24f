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

// The layers that give the logits: the last one, the layer of that name, or one per head of a
// MultiHead, by head name.
using OutputNames = std::variant<std::string, std::map<std::string, std::string>>;

// Applies layers in their order; each takes the outputs of features and earlier layers by name
// (core/nn/layers/network.h). A first layer that names no input takes the only feature; a head's
// weight column does not count. Build throws Error kUsage for an empty list, for an unknown name,
// and for errors of a layer.
struct Functional {
  static constexpr std::string_view kType = "Functional";
  static constexpr std::string_view kSummary =
      "a graph of named layers and a head, written in the job";
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
    v("layers", layers, {.help = "layers from the features to the logits", .required = true});
    v("inputs", inputs,
      {.help = "names of the features that layers refer to; [] takes all. A single feature may "
               "have any name"});
    v("input_shape", input_shape,
      {.help = "required shape of an example; -1 allows any size of an axis; [] allows any shape"});
    v("outputs", outputs,
      {.help =
           "layer that returns the logits, or one per head by its name; default: the last layer"});
    v("weights", weights,
      {.help = "Keras file with the initial weights of a run: .h5, .keras or .weights.h5",
       .input_path = true});
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
