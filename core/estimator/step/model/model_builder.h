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
  std::optional<Scaffold> scaffold;  // the spec's, if it was asked for
  // The model reads example_weight: a padded batch means what the short one does.
  bool uses_example_weight = false;
};

struct BuildArgs {
  Mode mode = Mode::kTrain;
  const StreamSpec& stream;
  // Examples of one replica's batch; nullopt: any number, for one graph that serves them all.
  std::optional<int64_t> rows;
  bool with_example_weight = false;
  bool with_scaffold = false;  // calls scaffold_fn: once in a session
  Params params;
};

// Error kUsage, in TensorFlow's words, where the spec lacks what its mode needs.
[[nodiscard]] BuiltModel BuildModel(const ModelFn& model_fn, const OpRegistry& registry,
                                    const BuildArgs& args);

// The names that its scaffold restores variables from; see Scaffold::restore_names.
[[nodiscard]] std::map<std::string, std::string> RestoreNames(const BuiltModel& model);

// The checks of a spec that a model_fn gave for its mode, as above; makes a scalar of a loss [1].
void CheckSpec(Graph& graph, Mode mode, const Params& params, TPUEstimatorSpec& spec);

// The tensors that feed the placeholders: features, labels and example_weight of a batch.
[[nodiscard]] std::vector<Tensor> InputsOf(const BuiltModel& model, const Batch& batch);

// A feature's name as a node's: TensorFlow takes letters, digits and "_.-/" there.
[[nodiscard]] std::string NodeNameOf(std::string_view feature);

// The rows of a whole batch, padding included.
[[nodiscard]] int64_t RowsOf(const Batch& batch);

// Whether two batches of one stream have the same rows, and lists of the same length.
[[nodiscard]] bool SameShapes(const Batch& a, const Batch& b);

// Whether two streams have columns of the same names, dtypes and shapes.
[[nodiscard]] bool SameSpec(const StreamSpec& a, const StreamSpec& b);

}  // namespace tpuest
