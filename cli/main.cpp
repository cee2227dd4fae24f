#include <csignal>

#include "cli/invocation.h"

int main(int argc, char** argv) {
  // A write past a limit on file sizes then fails like one to a full disk, and is told.
  std::signal(SIGXFSZ, SIG_IGN);
  const tpuest::cli::Parsed parsed = tpuest::cli::ParseCommandLine(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  return parsed.command->run(parsed.invocation);
}
