#pragma once
// With which optimizer an old Estimator's folder was trained, and with which numbers.

#include <optional>
#include <string>

#include "core/graph/graph_nodes.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

// A line of the job, and what could not be found out about it.
struct MigratedLine {
  std::string text;     // "n_classes: 3"
  std::string unknown;  // empty: nothing
};

// The optimizer of the variables whose names begin with `part` ("dnn/"; "": all), as YAML:
// "{type: AdamOptimizer, learning_rate: 0.01}". nullopt: there is none of this family.
//
// Of tf.train's, by the ops that update the variables.
[[nodiscard]] std::optional<MigratedLine> FindTrainOptimizer(const SeenGraph& graph,
                                                             const BundleReader& variables,
                                                             const std::string& part);
// Of tf.keras.optimizers.legacy's, by the numbers and slots that it keeps below training/.
[[nodiscard]] std::optional<MigratedLine> FindKerasOptimizer(const SeenGraph& graph,
                                                             const BundleReader& variables,
                                                             const std::string& part);

}  // namespace tpuest::cli
