#pragma once
// A command line's words become the command and its invocation.

#include <memory>
#include <optional>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// The invocation, or the exit code where --help, --version (0) or a usage error (2) was all there
// was to say, and has been said: help on stdout, an error on stderr and with --json on stdout, too.
struct Parsed {
  const Command* command = nullptr;
  std::unique_ptr<Invocation> invocation;
  std::optional<int> exit_code;
};
// argv[0] is the program. `commands` outlives the result.
[[nodiscard]] Parsed ParseCommandLine(const std::vector<Command>& commands, int argc,
                                      const char* const* argv);

}  // namespace tpuest::cli
