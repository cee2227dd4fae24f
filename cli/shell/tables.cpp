#include "cli/shell/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tpuest::cli {
namespace {

// Three digits of count / unit^n, behind them the n-th of `names`.
std::string Scaled(double count, double unit, const std::array<const char*, 5>& names) {
  size_t n = 0;
  while (n + 1 < names.size() && count >= unit * 0.9995) {
    count /= unit;
    ++n;
  }
  if (n == 0) return fmt::format("{:.0f}{}", count, names[0]);
  const int digits = count < 9.995 ? 2 : count < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}{}", count, digits, names[n]);
}

}  // namespace

std::string CountText(double count) { return Scaled(count, 1000, {"", " k", " M", " G", " T"}); }

std::string BytesText(int64_t bytes) {
  return Scaled(static_cast<double>(bytes), 1024, {" bytes", " KiB", " MiB", " GiB", " TiB"});
}

std::string TableText(const std::vector<bool>& right,
                      const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(right.size(), 0);
  for (const std::vector<std::string>& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += right[i] ? fmt::format("{:>{}}", row[i], widths[i])
                       : fmt::format("{:<{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace tpuest::cli
