#pragma once
// Finds the content of a table in the graph. Private to the lookup ops.

#include "core/graph/graph.h"

namespace tpuest::ops {

// The content of a table: keys[i] maps to values[i].
struct TableContent {
  Tensor keys;    // [n]; a key may occur twice
  Tensor values;  // [n]
};

// Returns the content of the table that a lookup reads: constants, or the lines of a file. Throws
// Error kUsage with the lookup's place for a missing initializer, inputs that are not constant, and
// keys or values of another dtype; kData for a file without the columns.
[[nodiscard]] TableContent ContentOf(const Node& lookup);

}  // namespace tpuest::ops
