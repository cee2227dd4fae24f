#include "cli/many/plot/svg.h"

#include <fmt/format.h>

namespace tpuest::cli {
namespace {

// Lengths are in pixels.
constexpr double kWidth = 760;
constexpr double kLeft = 80;
constexpr double kRight = 20;
constexpr double kTop = 36;
constexpr double kPlotHeight = 240;
constexpr double kBelow = 48;
constexpr double kLegendLine = 18;

// Okabe and Ito's colours, which the colour-blind tell apart.
constexpr std::string_view kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                         "#e69f00", "#56b4e9", "#000000", "#8c6d31"};
constexpr std::string_view kDashes[] = {"none", "7 3", "2 3", "9 3 2 3"};

std::string_view ColourOf(size_t curve) { return kColours[curve % std::size(kColours)]; }
std::string_view DashesOf(size_t curve) { return kDashes[curve % std::size(kDashes)]; }

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

double HeightOf(const Panel& panel) {
  return kTop + kPlotHeight + kBelow + kLegendLine * static_cast<double>(panel.curves.size());
}

// One panel whose upper edge is at `top`.
class PanelWriter {
 public:
  PanelWriter(const Panel& panel, double top) : panel_(panel), top_(top + kTop) {}

  std::string Write(const std::string& x_name) {
    Text(kLeft, top_ - 14, "start", panel_.metric, "bold");
    XTicks();
    YTicks();
    svg_ += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#444\"/>\n",
        kLeft, top_, kWidth - kLeft - kRight, kPlotHeight);
    for (size_t i = 0; i < panel_.curves.size(); ++i) {
      DrawCurve(i);
      Legend(i);
    }
    Text((kLeft + kWidth - kRight) / 2, top_ + kPlotHeight + 36, "middle", x_name);
    return std::move(svg_);
  }

 private:
  [[nodiscard]] double X(double value) const {
    return kLeft + panel_.x.At(value) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double Y(double value) const {
    return top_ + (1 - panel_.y.At(value)) * kPlotHeight;
  }

  void Text(double x, double y, const char* anchor, std::string_view text,
            const char* weight = "normal") {
    svg_ += fmt::format(
        "<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\" font-weight=\"{}\">{}</text>\n", x, y,
        anchor, weight, Escaped(text));
  }

  void Line(double x1, double y1, double x2, double y2) {
    svg_ += fmt::format(
        "<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" stroke=\"#ddd\"/>\n", x1, y1,
        x2, y2);
  }

  void XTicks() {
    for (const double tick : panel_.x.ticks) {
      Line(X(tick), top_, X(tick), top_ + kPlotHeight);
      Text(X(tick), top_ + kPlotHeight + 18, "middle", TickText(tick));
    }
  }

  void YTicks() {
    for (const double tick : panel_.y.ticks) {
      Line(kLeft, Y(tick), kWidth - kRight, Y(tick));
      Text(kLeft - 8, Y(tick) + 4, "end", TickText(tick));
    }
  }

  // Draws a polyline for each stretch without gaps; a single point is a dot.
  void DrawCurve(size_t index) {
    std::string stretch;
    size_t points = 0;
    const auto end = [&] {
      if (points == 1) {
        const size_t comma = stretch.find(',');
        svg_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\" fill=\"{}\"/>\n",
                            stretch.substr(0, comma), stretch.substr(comma + 1), ColourOf(index));
      } else if (points > 1) {
        svg_ += fmt::format(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\" "
            "stroke-dasharray=\"{}\"/>\n",
            stretch, ColourOf(index), DashesOf(index));
      }
      stretch.clear();
      points = 0;
    };
    for (const PlotPoint& point : panel_.curves[index].points) {
      if (!IsDrawn(panel_.y, point.y)) {
        end();
        continue;
      }
      stretch += fmt::format("{}{:.2f},{:.2f}", points++ == 0 ? "" : " ", X(point.x), Y(point.y));
    }
    end();
  }

  void Legend(size_t index) {
    const double y = top_ + kPlotHeight + kBelow + kLegendLine * static_cast<double>(index);
    svg_ += fmt::format(
        "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"2\" "
        "stroke-dasharray=\"{}\"/>\n",
        kLeft, y, kLeft + 36, y, ColourOf(index), DashesOf(index));
    Text(kLeft + 44, y + 4, "start", panel_.curves[index].run);
  }

  const Panel& panel_;
  double top_;
  std::string svg_;
};

}  // namespace

std::string PlotSvg(const std::vector<Panel>& panels, const std::string& x_name) {
  std::string body;
  double height = 0;
  for (const Panel& panel : panels) {
    body += PanelWriter(panel, height).Write(x_name);
    height += HeightOf(panel);
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} "
      "{1}\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"white\"/>\n{2}</svg>\n",
      kWidth, height, body);
}

}  // namespace tpuest::cli
