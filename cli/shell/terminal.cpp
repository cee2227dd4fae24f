#include "cli/shell/terminal.h"

#include <sys/ioctl.h>

namespace tpuest::cli {

int TerminalColumns(int descriptor) {
  constexpr int kUsual = 80;
  winsize size{};
  const bool is_known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : kUsual;
}

}  // namespace tpuest::cli
