#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <string_view>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/shell/command_line.h"
#include "cli/shell/guarded.h"

// A descriptor of 0 to 2 that is closed would be the next file's, and what is printed would go into
// a checkpoint.
static void OpenStandardDescriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) (void)open("/dev/null", O_RDWR);
  }
}

int main(int argc, char** argv) {
  using namespace tpuest::cli;
  OpenStandardDescriptors();
  // A write past a limit on file sizes then fails like a write to a full disk, and is reported.
  std::signal(SIGXFSZ, SIG_IGN);
  // The completion scripts of shells ask this way.
  if (argc > 1 && std::string_view(argv[1]) == "__complete") {
    return PrintCompletions({argv + 2, argv + argc});
  }
  Parsed parsed;
  const int exit_code = Guarded(Invocation(), [&](tpuest::config::Sources& /*sources*/) {
    parsed = ParseCommandLine(Commands(), argc, argv);
    return parsed.exit_code.value_or(0);  // help that cannot be written is also an error
  });
  if (parsed.exit_code || exit_code != 0) return exit_code;
  return Guarded(*parsed.invocation, [&](tpuest::config::Sources& sources) {
    return parsed.command->run(*parsed.invocation, sources);
  });
}
