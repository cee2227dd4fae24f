#pragma once
// The initial value of a variable as a function of the row: any element, equal to the bit to the
// one that the graph draws for the whole tensor.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/backend/rows/row_table.h"
#include "core/graph/graph.h"

namespace tpuest::ops {

// Describes an initial value of float32 that is the same number in every element, or scaled and
// shifted random numbers; nullopt for any other initial value. `seed`: tf_random_seed.
[[nodiscard]] std::optional<RowDraw> RowDrawOf(const Value& initial, uint64_t seed);

// The same as graph nodes, using ops that TensorFlow has: the elements [n, width] of these rows,
// int64 [n]. Normal numbers are equal except for the rounding of a logarithm and a cosine in
// double; truncated ones stop after eight tries (one in 10^11 needs more).
[[nodiscard]] std::optional<Value> DrawnRows(const Value& initial, uint64_t seed, Value rows,
                                             int64_t width);

}  // namespace tpuest::ops
