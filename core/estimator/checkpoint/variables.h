#pragma once
// The values that a graph's variables start with: drawn, restored or warm-started.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/log.h"
#include "core/estimator/checkpoint/saved/saved_state.h"

namespace tpuest {

// Computes the initial values of the graph's variables (all, or the local ones only) and puts them
// into the store. They are a pure function of graph and seed.
enum class Which { kAll, kLocal };
void InitializeVariables(Backend& backend, const Graph& graph, Which which, uint64_t seed,
                         VariableStore& store);

// Puts the checkpoint's values into the store, one for every variable that is not local. Error
// kCheckpoint, with every difference, where names, shapes or dtypes do not fit; the store is then
// as it was, but for what it keeps by rows. Error kUsage for a table that the store keeps whole and
// the checkpoint has some rows of. Values that only the checkpoint has are passed over. Numbers
// that are the job's to say (Variable::from_job) are the job's; `log` tells where the checkpoint's
// differ. `names` has, by variable, the checkpoint's name for it where that is another one.
void RestoreVariables(const SavedState& saved, const Graph& graph, VariableStore& store,
                      Log* log = nullptr, const std::map<std::string, std::string>& names = {});

}  // namespace tpuest
