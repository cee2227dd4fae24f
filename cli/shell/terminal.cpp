#include "cli/shell/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace tpuest::cli {

int TerminalColumns(int descriptor) {
  constexpr int kUsual = 80;
  winsize size{};
  const bool is_known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUsual;
}

bool IsTerminal() {
  const char* const term = std::getenv("TERM");
  if (std::getenv("CI") != nullptr || (term != nullptr && std::string_view(term) == "dumb")) {
    return false;
  }
  return isatty(STDERR_FILENO) != 0;
}

bool HasColours(Toggle toggle) {
  if (toggle != Toggle::kAuto) return toggle == Toggle::kAlways;
  return IsTerminal() && std::getenv("NO_COLOR") == nullptr;
}

}  // namespace tpuest::cli
