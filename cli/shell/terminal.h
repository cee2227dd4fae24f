#pragma once
// The terminal that people look at.

#include "cli/shell/invocation.h"

namespace tpuest::cli {

// The columns of the terminal on a descriptor; 80 where none is known.
[[nodiscard]] int TerminalColumns(int descriptor);
// Whether stderr is a terminal that redraws lines and shows colours: not where CI is set.
[[nodiscard]] bool IsTerminal();
// Whether lines on stderr have colours: as the toggle says, or on a terminal without NO_COLOR.
[[nodiscard]] bool HasColours(Toggle toggle);

}  // namespace tpuest::cli
