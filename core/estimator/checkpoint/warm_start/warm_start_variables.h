#pragma once
// The choice of the variables that a warm start is about.

#include <vector>

#include "core/base/log.h"
#include "core/estimator/options/warm_start_settings.h"
#include "core/graph/graph.h"

namespace tpuest {

// The variables that the settings pick, in the order of the graph. A pattern, or null, picks among
// trainable ones, a list among all but local ones. Error kUsage, at the settings' key, for a
// pattern that is none, and in TensorFlow's words for a name in its dicts that no picked variable
// has.
[[nodiscard]] std::vector<const Variable*> PickVariables(const WarmStartSettings& settings,
                                                         const Graph& graph, Log& log);

}  // namespace tpuest
