#pragma once
// Ways through the nodes of an old Estimator's graph. Inputs count from 0.

#include <optional>
#include <string>
#include <string_view>

#include "core/graph/graph_nodes.h"

namespace tpuest::cli {

// The node whose value comes in at an input, skipping nodes that pass their input through, such as
// Identity and StopGradient; nullptr if there is none.
[[nodiscard]] const SeenNode* SourceAt(const SeenGraph& graph, const SeenNode& node, size_t input);

// The name of the variable that is read at an input, as checkpoints call it; nullopt: it is none.
[[nodiscard]] std::optional<std::string> VariableAt(const SeenGraph& graph, const SeenNode& node,
                                                    size_t input);

// The result of `node` that a tensor of a function is, past casts and other shapes:
// "ParseExample:dense_values:3"; nullopt: it is none.
[[nodiscard]] std::optional<std::string> ResultOf(const SeenGraph& function, std::string tensor,
                                                  const SeenNode& node);

// The scope of a name: "a/b" of "a/b/c"; "" of "c".
[[nodiscard]] std::string ScopeOf(std::string_view name);

// The output in a tensor's name: 2 of "IteratorGetNext:2"; 0 if the name gives none.
[[nodiscard]] size_t OutputOf(std::string_view tensor);

// True for an op of any of its versions: IsOp(node, "FusedBatchNorm") for FusedBatchNormV3.
[[nodiscard]] bool IsOp(const SeenNode& node, std::string_view op);

// True for a variable of either version: a resource or a reference.
[[nodiscard]] bool IsVariable(const SeenNode& node);

// True for an addition, Add or AddV2.
[[nodiscard]] bool IsSum(const SeenNode& node);

// True for a node in the scope ("clip_by_norm") that works on gradients: one of its inputs goes
// back to a gradient. A model has such scopes as well (max_norm, normalizers), and so have their
// gradients.
[[nodiscard]] bool ChangesGradient(const SeenGraph& graph, const SeenNode& node,
                                   std::string_view scope);

// A node in the words of a message: `Conv3D "net/conv"`.
[[nodiscard]] std::string Described(const SeenNode* node);

}  // namespace tpuest::cli
