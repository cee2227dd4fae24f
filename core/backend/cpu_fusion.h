#pragma once
// Fuses chains of nodes of a bound graph. Only speed changes: with fusion off a program computes the
// same function.

#include <map>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest {

// Copies `from` into the empty graph `to`, under the same names, fusing on the way. Fills `mapped`
// with where each value of `from` went; values in `keep` are there in any case, values that a fusion
// made superfluous are not.
void FuseNodes(const Graph& from, const std::vector<Value>& keep, Graph& to,
               std::map<Value, Value>& mapped);

}  // namespace tpuest
