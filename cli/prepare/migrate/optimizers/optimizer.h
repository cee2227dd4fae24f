#pragma once
// Finds the optimizer that an old Estimator's folder was trained with, and its numbers.

#include <optional>
#include <set>
#include <string>

#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

// A line of the job, and what could not be found out about it.
struct MigratedLine {
  std::string text;     // "n_classes: 3"
  std::string unknown;  // empty: nothing
};

// Finds the optimizer of the variables whose names begin with `part` ("dnn/"; "": all), as YAML:
// "{type: AdamOptimizer, learning_rate: 0.01}". nullopt: there is none of this family.
//
// This one finds those of tf.train, by the ops that update the variables.
[[nodiscard]] std::optional<MigratedLine> FindTrainOptimizer(const SeenGraph& graph,
                                                             const BundleReader& variables,
                                                             const std::string& part);
// This one finds those of tf.keras.optimizers.legacy, by the numbers and slots that they keep below
// training/.
[[nodiscard]] std::optional<MigratedLine> FindKerasOptimizer(const SeenGraph& graph,
                                                             const BundleReader& variables,
                                                             const std::string& part);

// The variables that an optimizer of tf.train updates.
[[nodiscard]] std::set<std::string> UpdatedVariables(const SeenGraph& graph);

}  // namespace tpuest::cli
