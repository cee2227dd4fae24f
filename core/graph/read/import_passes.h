#pragma once
// Passes over an inlined GraphDef of TensorFlow before it becomes nodes of a Graph; for .cpp files
// of core/graph.

#include "core/graph/read/function_inliner.h"

namespace tpuest {

// Turns TensorFlow 1's reference variables (VariableV2, Assign, ...) into resources (VarHandleOp,
// AssignVariableOp, ...): Identities that read one become its ReadVariableOp, and readers of
// another op get one. Replaces a PlaceholderWithDefault by its default.
void RewriteNodes(InlinedGraph& inlined);

// Drops control inputs that lead to no write of a variable (assertions, groups of reads), then the
// nodes that the wanted tensors do not need.
void DropIdleNodes(InlinedGraph& inlined, const OpRegistry& registry);

}  // namespace tpuest
