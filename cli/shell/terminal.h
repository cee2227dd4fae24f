#pragma once
// The terminal that people look at.

namespace tpuest::cli {

// The columns of the terminal on a descriptor; 80 where none is known.
[[nodiscard]] int TerminalColumns(int descriptor);

}  // namespace tpuest::cli
