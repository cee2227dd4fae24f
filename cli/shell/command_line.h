#pragma once
// Parses a command line into the command and its invocation.

#include <memory>
#include <optional>
#include <vector>

#include "cli/shell/command.h"

namespace tpuest::cli {

// The invocation; or the exit code after --help or --version (0) or a usage error (2), which have
// already printed: help to stdout, an error to stderr and, with --json, also to stdout.
struct Parsed {
  const Command* command = nullptr;
  std::unique_ptr<Invocation> invocation;
  std::optional<int> exit_code;
};
// argv[0] is the program. `commands` must outlive the result.
[[nodiscard]] Parsed ParseCommandLine(const std::vector<Command>& commands, int argc,
                                      const char* const* argv);

}  // namespace tpuest::cli
