#pragma once
// tpuest inspect shows a checkpoint: its variables, one variable's value, and the differences from
// another checkpoint.

#include <string>

#include "cli/look/inspect/invocation.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

// Prints on stdout and returns exit code 0. With --value the values of that variable; with --json
// {kind: "variable", name, shape, dtype, value}, of several {kind: "variables", variables: {<name>:
// {shape, dtype, value}}}. Else a line a variable, the shards and the totals; with --json {kind:
// "checkpoint", path, variables: {<name>: {shape, dtype, min, max, mean, std, sum, zeros, nan,
// inf}}, parameters, bytes, shards}. Error kCheckpoint for a damaged checkpoint or an unknown
// variable.
int ShowCheckpoint(const InspectInvocation& invocation, const std::string& prefix);

// Prints the differences from the first to the second and returns exit code 0; with --json {kind:
// "diff", path, other, equal, only_in_first, only_in_second, differ: {<name>: {...}}, same}.
int ShowDifference(const InspectInvocation& invocation, const std::string& prefix,
                   const std::string& other);

// Returns true if a tensor of a checkpoint is not a parameter of the model: a counter, a slot of an
// optimizer ("dense/kernel/Momentum" beside "dense/kernel", "training/Adam/dense/kernel/m"), or an
// entry of tpuest or the graph of objects.
[[nodiscard]] bool IsBesideParameters(const BundleReader& reader, const std::string& name);

}  // namespace tpuest::cli
