#pragma once
// The map ops as graph nodes, for the receivers of exports.

#include <map>
#include <string>

#include "core/graph/graph.h"
#include "data/examples/map_step.h"

namespace tpuest::data {

// The op's result on x [batch, ...], a column whose examples have the type and shape of `spec`: bit
// for bit the values of ResolveMap's step. The op fits the column (ResolveMap threw no error), and
// the column's shape is known.
[[nodiscard]] Value MapNodes(const MapOptions& options, const TensorSpec& spec, Value x);

// A string column [batch] of raw bytes as numbers [batch, shape...] of `dtype`.
[[nodiscard]] Value RawNodes(Value x, DType dtype, const Shape& shape, bool little_endian = true);

// A column that a formula over one example computes from others, [?, ...]; the columns are also
// available as features['name']. Throws kUsage, at the place in the formula.
[[nodiscard]] Value FormulaNodes(Graph& graph, const Formula& formula,
                                 const std::map<std::string, Value>& columns);
// A placeholder for a column of a batch, [?, ...], and the type and shape of one example of such a
// value.
[[nodiscard]] Value ColumnPlaceholder(Graph& graph, const TensorSpec& column);
[[nodiscard]] TensorSpec SpecOf(Value column);

}  // namespace tpuest::data
