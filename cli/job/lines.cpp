#include "cli/job/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/scalars.h"
#include "config/substitute.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

constexpr size_t kLineWidth = 100;

}  // namespace

std::string Word(const std::string& text) {
  return config::StringText(config::EscapeVariables(text));
}

std::string Rounded(double value, double deviation) {
  const double size = deviation > 0 ? deviation : std::max(std::abs(value), 1e-30);
  const int decimals = 2 - static_cast<int>(std::floor(std::log10(size)));
  if (decimals > 0) return fmt::format("{:.{}f}", value, decimals);
  const double step = std::pow(10.0, -decimals);
  return fmt::format("{:.1f}", std::round(value / step) * step);
}

std::string FlowList(size_t column, const std::vector<std::string>& items, size_t indent) {
  std::string text = "[";
  size_t width = column + text.size();
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string item = items[i] + (i + 1 < items.size() ? "," : "");
    const bool is_full = width + item.size() + 1 > kLineWidth;
    const std::string before = is_full ? "\n" + std::string(indent, ' ') : i > 0 ? " " : "";
    width = is_full ? indent : width + before.size();
    text += before + item;
    width += item.size();
  }
  return text + "]";
}

std::string FlowList(const std::string& head, const std::vector<std::string>& items,
                     size_t indent) {
  return head + FlowList(head.size(), items, indent);
}

std::string Commented(const std::string& line, const std::string& comment) {
  if (line.size() + comment.size() + 4 <= kLineWidth) return line + "  # " + comment + "\n";
  const size_t indent = line.find_first_not_of(' ');
  return std::string(indent, ' ') + "# " + comment + "\n" + line + "\n";
}

std::string SectionLines(const std::string& name, const Fields& fields,
                         const std::string& comment) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : fields) parts.push_back(key + ": " + value);
  const std::string line = fmt::format("  {}: {{{}}}", name, Join(parts, ", "));
  if (line.find('\n') == std::string::npos && line.size() <= kLineWidth) {
    return Commented(line, comment);
  }
  std::string lines = fmt::format("  {}:  # {}\n", name, comment);
  for (const std::string& part : parts) lines += "    " + part + "\n";
  return lines;
}

}  // namespace tpuest::cli
