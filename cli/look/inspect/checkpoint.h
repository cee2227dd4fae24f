#pragma once
// tpuest inspect of a checkpoint: its variables, one variable's value, and what is different in
// another checkpoint.

#include <string>

#include "cli/look/inspect/invocation.h"
#include "core/io/bundle.h"

namespace tpuest::cli {

// With --value the values of that variable; with --json {kind: "variable", name, shape, dtype,
// value}. Else a line a variable, the shards and the totals; with --json {kind: "checkpoint", path,
// variables: {<name>: {shape, dtype, min, max, mean, std, sum, zeros, nan, inf}}, parameters,
// bytes, shards}.
int ShowCheckpoint(const InspectInvocation& invocation, const std::string& prefix);

// What differs from the first to the second; with --json {kind: "diff", path, other, equal,
// only_in_first, only_in_second, differ: {<name>: {...}}, same}.
int ShowDifference(const InspectInvocation& invocation, const std::string& prefix,
                   const std::string& other);

// Whether a tensor of a checkpoint is none of the model's parameters: counters, slots of an
// optimizer ("dense/kernel/Momentum" beside "dense/kernel", "training/Adam/dense/kernel/m"), and
// what tpuest or the graph of objects keeps.
[[nodiscard]] bool IsBesideParameters(const BundleReader& reader, const std::string& name);

}  // namespace tpuest::cli
