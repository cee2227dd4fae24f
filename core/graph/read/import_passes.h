#pragma once
// Passes that change an inlined GraphDef of TensorFlow's before it becomes nodes of a Graph; for
// .cpp files of core/graph.

#include "core/graph/read/function_inliner.h"

namespace tpuest {

// Variables of TensorFlow 1 that are passed by reference (VariableV2, Assign, ...) become resources
// (VarHandleOp, AssignVariableOp, ...): Identities that read one become its ReadVariableOp, and
// readers of another op get one. A PlaceholderWithDefault becomes its default.
void RewriteNodes(InlinedGraph& inlined);

// Drops control inputs behind which nothing writes a variable (assertions, groups of reads), and
// then the nodes that the wanted tensors do not need.
void DropIdleNodes(InlinedGraph& inlined, const OpRegistry& registry);

}  // namespace tpuest
