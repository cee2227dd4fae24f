#pragma once
// Properties of the terminal.

#include "cli/shell/invocation.h"

namespace tpuest::cli {

// Returns the columns of the terminal on a descriptor; 80 if unknown.
[[nodiscard]] int TerminalColumns(int descriptor);
// Returns true if stderr is a terminal that can redraw lines and show colours; false if CI is set.
[[nodiscard]] bool IsTerminal();
// Returns true if lines on stderr have colours: by the toggle, otherwise on a terminal without
// NO_COLOR.
[[nodiscard]] bool HasColours(Toggle toggle);

}  // namespace tpuest::cli
