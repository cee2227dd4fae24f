#pragma once
// The map ops as graph nodes, for receivers of exports.

#include <map>
#include <string>

#include "core/graph/graph.h"
#include "data/examples/map_step.h"

namespace tpuest::data {

// The op's result on x [batch, ...], a column of one type and shape `spec` an example: the values
// that ResolveMap's step gives, to the bit. The op fits the column (ResolveMap found no fault), and
// the column's shape is known.
[[nodiscard]] Value MapNodes(const MapOptions& options, const TensorSpec& spec, Value x);

// A string column [batch] of raw bytes as numbers [batch, shape...] of `dtype`.
[[nodiscard]] Value RawNodes(Value x, DType dtype, const Shape& shape, bool little_endian = true);

// A column that a formula makes of others, [?, ...], as a formula over one example; the columns are
// also features['name']. Throws Error kUsage, at its place in the formula.
[[nodiscard]] Value FormulaNodes(Graph& graph, const Formula& formula,
                                 const std::map<std::string, Value>& columns);
// A column of a batch as it is fed, [?, ...], and what such a value is of one example.
[[nodiscard]] Value ColumnPlaceholder(Graph& graph, const TensorSpec& column);
[[nodiscard]] TensorSpec SpecOf(Value column);

}  // namespace tpuest::data
