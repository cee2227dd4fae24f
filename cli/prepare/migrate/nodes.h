#pragma once
// Ways through the nodes of an old Estimator's graph.

#include <optional>
#include <string>
#include <string_view>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

// The node whose value comes in at an input, past those that hand on what they get (Identity,
// StopGradient and the like); nullptr: there is none.
[[nodiscard]] const SeenNode* SourceAt(const SeenGraph& graph, const SeenNode& node, size_t input);

// The variable that is read there, as checkpoints call it; nullopt: it is none.
[[nodiscard]] std::optional<std::string> VariableAt(const SeenGraph& graph, const SeenNode& node,
                                                    size_t input);

// "a/b" of "a/b/c"; "" of "c".
[[nodiscard]] std::string ScopeOf(std::string_view name);

// Whether an op of any of its versions: IsOp(node, "FusedBatchNorm") for FusedBatchNormV3.
[[nodiscard]] bool IsOp(const SeenNode& node, std::string_view op);

// An addition, of either version.
[[nodiscard]] bool IsSum(const SeenNode& node);

// What stands at an input in a message: `Conv3D "net/conv"`.
[[nodiscard]] std::string Described(const SeenNode* node);

}  // namespace tpuest::cli
