#pragma once
// Kernels of reads that copy a whole variable.

#include "core/backend/plan.h"
#include "core/backend/rows/row_keeping.h"
#include "core/graph/graph.h"

namespace tpuest {

// The kernel of a read that copies the variable's memory to a buffer.
[[nodiscard]] Kernel CopyOfRead(const Node& read, const void* memory, Buffer copy);
// The same for a variable that is kept by rows. Throws kUsage if it has too many rows.
[[nodiscard]] Kernel CopyOfRows(const Node& read, const RowColumn& rows, Buffer copy);

}  // namespace tpuest
