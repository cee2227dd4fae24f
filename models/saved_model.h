#pragma once
// A SavedModel, or a frozen graph, used as a model: tf.estimator.experimental.SavedModelEstimator.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/read/saved_model.h"
#include "models/build_spec.h"

namespace tpuest::models {

// Predicts with the MetaGraph that is tagged serve. Evaluates with the one tagged eval, as
// experimental_export_all_saved_models writes it, or with a head on the logits of the serving
// signature. Does not train. Features go to the inputs of the same name; variables start with the
// values in the SavedModel. Build throws Error kUsage for features and names that do not fit, kData
// for an inconsistent SavedModel.
struct SavedModelModel {
  static constexpr std::string_view kType = "saved_model";
  static constexpr std::string_view kSummary =
      "an existing SavedModel or frozen graph, to evaluate and predict with";
  std::string path;
  std::optional<std::string> signature;
  std::map<std::string, std::string> inputs;
  std::map<std::string, std::string> outputs;
  std::string logits = "logits";
  std::optional<nn::AnyHead> head;
  std::vector<nn::ExtraMetric> metrics;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("path", path,
      {.help = "folder of a SavedModel, or file with a GraphDef (.pb, .pbtxt)",
       .required = true,
       .tpuest = true,
       .input_path = true});
    v("signature", signature,
      {.help = "signature that predicts; `null` is predict, otherwise serving_default",
       .tpuest = true});
    v("inputs", inputs, {.help = "of a GraphDef: the tensor fed by each feature", .tpuest = true});
    v("outputs", outputs, {.help = "of a GraphDef: the tensor of each prediction", .tpuest = true});
    v("logits", logits, {.help = "output that the head takes as logits", .tpuest = true});
    v("head", head, {.help = "head to evaluate with, if the SavedModel has no eval graph"});
    v("metrics", metrics, {.help = "metrics to add to those of the head"});
  }

  [[nodiscard]] const std::optional<nn::AnyHead>& Head() const { return head; }
  [[nodiscard]] TPUEstimatorSpec Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const;
};

}  // namespace tpuest::models
