#pragma once
// Finds a graph's variables among the objects of a checkpoint.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/io/object_graph.h"

namespace tpuest {

// The nodes that hold variables' values, by the variables' names in the graph.
using VariableNodes = std::map<std::string, int, std::less<>>;
// The shape of a stored tensor; nullopt if there is none under this key.
using ShapeOfKey = std::function<std::optional<Shape>(const std::string& key)>;

// Looks for variables (no slots, no optimizer's own) by the names that the checkpoint's variables
// had in their program. Unless all of the layers' variables are there, all are looked for by their
// place in the model (Variable::object_path) below the root or below one of its children, such as
// "model". Variables that are not found are left out. Error kCheckpoint where several models of the
// checkpoint fit; `file` names it there.
[[nodiscard]] VariableNodes FindVariables(const ObjectGraph& objects,
                                          const std::vector<const Variable*>& variables,
                                          const ShapeOfKey& shape_of, const std::string& file);

// Whether the variable is another's slot or an optimizer's own ("dense/kernel/Adam", "beta1_power")
// rather than a part of the model; global_step is neither.
[[nodiscard]] bool IsOptimizers(const Graph& graph, const Variable& variable);

// The node of the step counter: the one named global_step, else the one that the root calls
// global_step, step or estimator_global_step, else the one count of an optimizer. nullopt if there
// is none, or several of a kind.
[[nodiscard]] std::optional<int> FindGlobalStep(const ObjectGraph& objects);

}  // namespace tpuest
