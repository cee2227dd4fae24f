#pragma once
// Rules that ops share whose results have sizes that follow from the values of their inputs. Such a
// node is bound where those inputs are constants (core/graph/bound_op.h).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/bound_op.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// Rows of a result at most whose number a value gives: a file may ask for any number.
inline constexpr int64_t kMostSizedRows = int64_t{1} << 26;

// The BoundOp of a node whose results are sized by the values of these inputs.
[[nodiscard]] BoundOp SizedByInputs(const Node& node, std::vector<int> inputs);

// The integers of input i where it is a constant; nullopt otherwise.
[[nodiscard]] std::optional<std::vector<int64_t>> KnownIntegers(const ShapeContext& context, int i);

// Throws Error kData with the node's place: "SparseReshape 'x': <message>".
[[noreturn]] void FailInData(const Node& node, const std::string& message);

// The length of a dimension 0 that two inputs share; kUnknownDim where neither says. Error kUsage
// where they differ.
[[nodiscard]] int64_t SharedRows(const ShapeContext& context, int first, int second);

}  // namespace tpuest::ops
