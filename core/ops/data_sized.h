#pragma once
// Shared rules of ops whose results have sizes that follow from the values of their inputs. Such a
// node is bound if those inputs are constants (core/graph/bound_op.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/bound_op.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// The largest number of rows of a result whose number is a value in a file, which could be
// anything.
inline constexpr int64_t kMostSizedRows = int64_t{1} << 26;

// Returns the BoundOp of a node whose results are sized by the values of these inputs.
[[nodiscard]] BoundOp SizedByInputs(const Node& node, std::vector<int> inputs);

// Returns the integers of input i if it is a constant, otherwise nullopt.
[[nodiscard]] std::optional<std::vector<int64_t>> KnownIntegers(const ShapeContext& context, int i);

// Throws Error kData with the node's place: "SparseReshape 'x': <message>".
[[noreturn]] void FailInData(const Node& node, const std::string& message);

// Returns the size of dimension 0 that two inputs share; kUnknownDim if neither is known. Throws
// Error kUsage if they differ.
[[nodiscard]] int64_t SharedRows(const ShapeContext& context, int first, int second);

}  // namespace tpuest::ops
