#pragma once
// Selects the variables of a warm start.

#include <vector>

#include "core/base/log.h"
#include "core/estimator/options/warm_start_settings.h"
#include "core/graph/graph.h"

namespace tpuest {

// Returns the variables that the settings select, in the order of the graph. A pattern or null
// selects among trainable variables, a list among all but local ones. Throws Error kUsage, at the
// settings' key, for an invalid pattern and, in TensorFlow's words, for a name in its dicts that no
// selected variable has.
[[nodiscard]] std::vector<const Variable*> PickVariables(const WarmStartSettings& settings,
                                                         const Graph& graph, Log& log);

}  // namespace tpuest
