#pragma once
// The initial value of a variable as a function of the row: what its graph draws for the whole
// tensor, for any of its elements, to the bit.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/backend/rows/row_table.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// Of a float32 initial value: one number everywhere, or random numbers that are multiplied by
// numbers and added to. nullopt: it is none of these. `seed`: tf_random_seed.
[[nodiscard]] std::optional<RowDraw> RowDrawOf(const Value& initial, uint64_t seed);

// The same as nodes of a graph, of ops that TensorFlow has: the elements [n, width] of these rows,
// int64 [n]. Numbers from a normal distribution are equal but for the rounding of a logarithm and a
// cosine in double; truncated ones are those of the first eight tries (one in 10^11 needs more).
[[nodiscard]] std::optional<Value> DrawnRows(const Value& initial, uint64_t seed, Value rows,
                                             int64_t width);

}  // namespace tpuest::ops
