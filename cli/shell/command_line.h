#pragma once
// From the words of a command line to the command and its invocation.

#include <memory>
#include <optional>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// The invocation, or the exit code where --help, --version or a usage error was all there was to
// say (and has been said).
struct Parsed {
  const Command* command = nullptr;
  std::unique_ptr<Invocation> invocation;
  std::optional<int> exit_code;
};
[[nodiscard]] Parsed ParseCommandLine(const std::vector<Command>& commands, int argc,
                                      const char* const* argv);

}  // namespace tpuest::cli
