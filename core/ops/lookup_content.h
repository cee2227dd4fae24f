#pragma once
// What a table holds, as its initializer in the graph says. For the lookup family's own files.

#include "core/graph/graph.h"

namespace tpuest::ops {

struct TableContent {
  Tensor keys;    // [n]; one may come twice
  Tensor values;  // [n]
};

// Of the table behind the handle of a lookup: constants, or the lines of a file. Error kUsage with
// the lookup's place: no initializer, no constants, keys or values of another dtype; kData: a file
// that does not have the columns.
[[nodiscard]] TableContent ContentOf(const Node& lookup);

}  // namespace tpuest::ops
