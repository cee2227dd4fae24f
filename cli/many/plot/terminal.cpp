#include "cli/many/plot/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "cli/shell/terminal.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kSymbols[] = {"●", "▲", "■", "◆", "○", "△", "□", "◇"};
constexpr std::string_view kAsciiSymbols[] = {"*", "o", "+", "x", "#", "@", "%", "&"};
constexpr size_t kCountSymbols = std::size(kSymbols);
constexpr int kLeast = 40;

std::string_view SymbolOf(size_t curve, bool unicode) {
  return unicode ? kSymbols[curve % kCountSymbols] : kAsciiSymbols[curve % kCountSymbols];
}

// Rows of cells, from the top, each of `columns` cells; an empty cell is "".
class Canvas {
 public:
  Canvas(int columns, int rows)
      : columns_(columns),
        cells_(static_cast<size_t>(rows),
               std::vector<std::string_view>(static_cast<size_t>(columns))) {}

  void Put(double x, double y, std::string_view symbol) {
    const int row = static_cast<int>(std::lround((1 - y) * static_cast<double>(cells_.size() - 1)));
    const int column = static_cast<int>(std::lround(x * (columns_ - 1)));
    cells_[static_cast<size_t>(row)][static_cast<size_t>(column)] = symbol;
  }

  // Draws the points, and the columns between two that follow each other.
  void Draw(const Panel& panel, const Curve& curve, std::string_view symbol) {
    const PlotPoint* before = nullptr;
    PlotPoint last;
    for (const PlotPoint& point : curve.points) {
      if (!IsDrawn(panel.y, point.y)) {
        before = nullptr;
        continue;
      }
      const PlotPoint at{panel.x.At(point.x), panel.y.At(point.y)};
      Put(at.x, at.y, symbol);
      // Two samples a column leave none out by rounding.
      const int between =
          before ? static_cast<int>(std::ceil(2 * (at.x - before->x) * (columns_ - 1))) : 0;
      for (int i = 1; i < between; ++i) {
        const double part = static_cast<double>(i) / between;
        Put(before->x + part * (at.x - before->x), before->y + part * (at.y - before->y), symbol);
      }
      last = at;
      before = &last;
    }
  }

  [[nodiscard]] std::string Row(size_t row) const {
    std::string text;
    for (const std::string_view cell : cells_[row]) text += cell.empty() ? " " : cell;
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
  }
  [[nodiscard]] size_t rows() const { return cells_.size(); }

 private:
  int columns_;
  std::vector<std::vector<std::string_view>> cells_;
};

// The label of each row; "" where there is no tick.
std::vector<std::string> LabelsOf(const Axis& y, int rows) {
  std::vector<std::string> labels(static_cast<size_t>(rows));
  for (const double tick : y.ticks) {
    const auto row = static_cast<size_t>(std::lround((1 - y.At(tick)) * (rows - 1)));
    if (row < labels.size()) labels[row] = TickText(tick);
  }
  return labels;
}

// The ticks of the x axis below it; one that would touch the one before is left out.
std::string XLabels(const Axis& x, int columns, size_t margin, const std::string& name) {
  std::string line(margin, ' ');
  for (const double tick : x.ticks) {
    const std::string text = TickText(tick);
    const auto centre = static_cast<size_t>(std::lround(x.At(tick) * (columns - 1)));
    const size_t start = margin + centre - std::min(centre, text.size() / 2);
    const bool fits = line.size() == margin ? start >= margin : start > line.size();
    if (!fits) continue;
    line.resize(start, ' ');
    line += text;
  }
  return line + "  " + name;
}

}  // namespace

TextCanvas CanvasOfStdout() {
  TextCanvas canvas;
  canvas.width = TerminalColumns(STDOUT_FILENO);
  const auto text = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  std::string locale = text("LC_ALL");
  if (locale.empty()) locale = text("LC_CTYPE");
  if (locale.empty()) locale = text("LANG");
  const bool is_utf8 =
      locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  canvas.unicode = is_utf8 && text("TERM") != "dumb";
  return canvas;
}

std::string PlotText(const Panel& panel, const std::string& x_name, const TextCanvas& canvas) {
  const std::vector<std::string> labels = LabelsOf(panel.y, canvas.height);
  size_t margin = 0;
  for (const std::string& label : labels) margin = std::max(margin, label.size());
  // Beside the canvas are its edge, half of the last tick's label and, below, the axis's name.
  size_t beside = x_name.size() + 2;
  if (!panel.x.ticks.empty()) beside += TickText(panel.x.ticks.back()).size() / 2;
  const int room = std::max(canvas.width, kLeast) - static_cast<int>(margin) - 2;
  const int columns = std::max(room - static_cast<int>(beside), kLeast / 2);
  Canvas cells(columns, canvas.height);
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    cells.Draw(panel, panel.curves[i], SymbolOf(i, canvas.unicode));
  }
  std::string text = panel.metric + "\n";
  for (size_t row = 0; row < cells.rows(); ++row) {
    const bool has_tick = !labels[row].empty();
    const std::string_view edge = canvas.unicode ? (has_tick ? "┤" : "│") : (has_tick ? "+" : "|");
    const std::string line = cells.Row(row);
    text += fmt::format("{:>{}} {}{}\n", labels[row], margin, edge, line);
  }
  std::string rule;
  for (int i = 0; i < columns; ++i) rule += canvas.unicode ? "─" : "-";
  text += fmt::format("{:>{}} {}{}\n", "", margin, canvas.unicode ? "└" : "+", rule);
  text += XLabels(panel.x, columns, margin + 2, x_name) + "\n";
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    text += fmt::format("{:>{}}   {} {}\n", "", margin, SymbolOf(i, canvas.unicode),
                        panel.curves[i].run);
  }
  return text;
}

}  // namespace tpuest::cli
