#pragma once
// Finds the content of a table in the graph. For the lookup family's own files.

#include "core/graph/graph.h"

namespace tpuest::ops {

// The content of a table: keys[i] has values[i].
struct TableContent {
  Tensor keys;    // [n]; one may come twice
  Tensor values;  // [n]
};

// The content of the table behind the handle of a lookup: constants, or the lines of a file. Error
// kUsage with the lookup's place: no initializer, no constants, keys or values of another dtype;
// kData: a file that does not have the columns.
[[nodiscard]] TableContent ContentOf(const Node& lookup);

}  // namespace tpuest::ops
