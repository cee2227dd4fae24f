#pragma once
// The values with which a graph's variables start: initial, restored or warm-started.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/log.h"
#include "core/estimator/checkpoint/saved/saved_state.h"

namespace tpuest {

// Computes the initial values of the graph's variables (all, or only the local ones) and puts them
// into the store. They are a pure function of graph and seed.
enum class Which { kAll, kLocal };
void InitializeVariables(Backend& backend, const Graph& graph, Which which, uint64_t seed,
                         VariableStore& store);

// Puts the checkpoint's values of all variables that are not local into the store. Values that only
// the checkpoint has are ignored. Variables that the job sets (Variable::from_job) keep the job's
// values; `log` reports differences. `names` maps a variable to the checkpoint's name for it if
// that differs. Throws Error kCheckpoint, with every difference, if names, shapes or dtypes do not
// fit; the store is then unchanged except for tables by rows. Throws Error kUsage for a table that
// the store keeps whole and the checkpoint has by rows.
void RestoreVariables(const SavedState& saved, const Graph& graph, VariableStore& store,
                      Log* log = nullptr, const std::map<std::string, std::string>& names = {});

}  // namespace tpuest
