#pragma once
// Calls a spec's scaffold_fn.

#include <optional>

#include "core/backend/backend.h"
#include "core/base/log.h"
#include "core/estimator/contract/calls.h"
#include "core/estimator/contract/contract.h"

namespace tpuest {

// Returns the scaffold of the scaffold_fn; nullopt if the spec has none. Throws Error kUsage, in
// TensorFlow's words, if it returns nothing, if a node that it adds reads a value on the device, or
// if it names a variable that the graph does not have.
[[nodiscard]] std::optional<Scaffold> CallScaffoldFn(const Graph& graph,
                                                     const TPUEstimatorSpec& spec);

// Replaces the variables' initial values by those of init_fn, if there is one: each has its
// variable's shape and dtype.
void RunInitFn(const Graph& graph, const std::optional<Scaffold>& scaffold, Log& log,
               VariableStore& variables);

// Runs local_init_op, if there is one; the store must contain the variables that it reads.
void RunLocalInit(Backend& backend, const Graph& graph, const Scaffold& scaffold,
                  VariableStore& variables);

// Logs TensorFlow's lines around a session's local_init_op, if the log contains such lines.
void LogLocalInit(const EstimatorHome& home);

}  // namespace tpuest
