#pragma once
// Calls a spec's scaffold_fn.

#include <optional>

#include "core/backend/backend.h"
#include "core/base/log.h"
#include "core/estimator/contract/calls.h"
#include "core/estimator/contract/contract.h"

namespace tpuest {

// The scaffold_fn's scaffold; nullopt where the spec has none. Error kUsage, in TensorFlow's words,
// if it returns nothing, if a node that it adds reads a value of the device, or if it names a
// variable that the graph does not have.
[[nodiscard]] std::optional<Scaffold> CallScaffoldFn(const Graph& graph,
                                                     const TPUEstimatorSpec& spec);

// Puts what init_fn gives, if there is one, in the place of the variables' initial values: each has
// its variable's shape and dtype.
void RunInitFn(const Graph& graph, const std::optional<Scaffold>& scaffold, Log& log,
               VariableStore& variables);

// Runs local_init_op, if there is one; the variables it reads are in the store.
void RunLocalInit(Backend& backend, const Graph& graph, const Scaffold& scaffold,
                  VariableStore& variables);

// TensorFlow's lines around a session's local_init_op, where the log has such.
void LogLocalInit(const EstimatorHome& home);

}  // namespace tpuest
