#pragma once
// Reads of whole variables that are copies.

#include "core/backend/plan.h"
#include "core/backend/rows/row_keeping.h"
#include "core/graph/graph.h"

namespace tpuest {

// The kernel of a read that copies the variable's memory to a buffer.
[[nodiscard]] Kernel CopyOfRead(const Node& read, const void* memory, Buffer copy);
// The same of what is kept by rows, which copies all of them to a buffer. Error kUsage where they
// are too many.
[[nodiscard]] Kernel CopyOfRows(const Node& read, const RowColumn& rows, Buffer copy);

}  // namespace tpuest
