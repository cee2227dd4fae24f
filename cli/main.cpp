#include "cli/invocation.h"

int main(int argc, char** argv) {
  const tpuest::cli::Parsed parsed = tpuest::cli::ParseCommandLine(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  return parsed.command->run(parsed.invocation);
}
