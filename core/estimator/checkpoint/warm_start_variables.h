#pragma once
// Which variables a warm start is about.

#include <vector>

#include "core/base/log.h"
#include "core/estimator/options/warm_start_settings.h"
#include "core/graph/graph.h"

namespace tpuest {

// The variables that the settings pick, in the order of the graph: of a pattern or null, trainable
// ones; of a list, all but local ones. Error kUsage, at the settings' key, for a pattern that is
// none, and in TensorFlow's words for a name in its dicts that no picked variable has.
[[nodiscard]] std::vector<const Variable*> PickVariables(const WarmStartSettings& settings,
                                                         const Graph& graph, Log& log);

}  // namespace tpuest
