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

// The object nodes that hold variables' values, by the variables' names in the graph.
using VariableNodes = std::map<std::string, int, std::less<>>;
// Returns the shape of a stored tensor; nullopt if there is none under this key.
using ShapeOfKey = std::function<std::optional<Shape>(const std::string& key)>;

// Finds variables (not slots or variables of optimizers) by the names that they had in the program
// that saved them. If some variables of the layers are missing then, finds all by their place in
// the model (Variable::object_path) below the root or one of its children, such as "model".
// Variables that are not found are omitted. Throws Error kCheckpoint, with `file`, if several
// models of the checkpoint fit.
[[nodiscard]] VariableNodes FindVariables(const ObjectGraph& objects,
                                          const std::vector<const Variable*>& variables,
                                          const ShapeOfKey& shape_of, const std::string& file);

// Whether the variable is a slot of another variable or belongs to an optimizer
// ("dense/kernel/Adam", "beta1_power"), and not to the model; false for global_step.
[[nodiscard]] bool IsOptimizers(const Graph& graph, const Variable& variable);

// Returns the node of the step counter: the variable named global_step, or else the root's child
// global_step, step or estimator_global_step, or else the only step count of an optimizer. nullopt
// if there is none, or several of a kind.
[[nodiscard]] std::optional<int> FindGlobalStep(const ObjectGraph& objects);

}  // namespace tpuest
