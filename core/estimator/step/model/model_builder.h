#pragma once
// Calls a model_fn on a graph with placeholders for a stream's columns, and keeps the spec that it
// returns.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"

namespace tpuest {

struct BuiltModel {
  std::unique_ptr<Graph> graph;
  TPUEstimatorSpec spec;
  // The placeholders, [rows, ...] each, in the order of InputsOf.
  std::vector<Value> inputs;
  bool has_labels = false;
  bool has_example_weight = false;
  std::optional<Scaffold> scaffold;  // of the spec, if requested
  // True if the model reads example_weight: a padded batch then gives the same results as the short
  // one.
  bool uses_example_weight = false;
};

struct BuildArgs {
  Mode mode = Mode::kTrain;
  const StreamSpec& stream;
  // Examples per replica; nullopt: any number, for one graph that serves all sizes.
  std::optional<int64_t> rows;
  bool with_example_weight = false;
  bool with_scaffold = false;  // calls scaffold_fn, once per session
  Params params;
};

// Throws Error kUsage, in TensorFlow's words, if the spec lacks something that its mode needs.
[[nodiscard]] BuiltModel BuildModel(const ModelFn& model_fn, const OpRegistry& registry,
                                    const BuildArgs& args);

// Returns the checkpoint names from its scaffold for its variables; see Scaffold::restore_names.
[[nodiscard]] std::map<std::string, std::string> RestoreNames(const BuiltModel& model);

// Checks the spec that a model_fn returned for its mode, as BuildModel does; turns a loss [1] into
// a scalar.
void CheckSpec(Graph& graph, Mode mode, const Params& params, TPUEstimatorSpec& spec);

// The tensors that feed the placeholders: features, labels and example_weight of a batch.
[[nodiscard]] std::vector<Tensor> InputsOf(const BuiltModel& model, const Batch& batch);

// Converts a feature's name to a valid node name: TensorFlow allows letters, digits and "_.-/".
[[nodiscard]] std::string NodeNameOf(std::string_view feature);

// The number of rows of a whole batch, including padding.
[[nodiscard]] int64_t RowsOf(const Batch& batch);

// Whether two batches of one stream have the same number of rows, and lists of the same length.
[[nodiscard]] bool SameShapes(const Batch& a, const Batch& b);

// Whether two streams have columns of the same names, dtypes and shapes.
[[nodiscard]] bool SameSpec(const StreamSpec& a, const StreamSpec& b);

}  // namespace tpuest
