// Axes and curves of plots.

#include <doctest/doctest.h>

#include <cmath>

#include "cli/many/plot/svg.h"
#include "cli/many/plot/terminal.h"

namespace tpuest::cli {
namespace {

TEST_CASE("ticks are round numbers inside the range") {
  const Axis axis = MakeAxis({0, 100}, false, 5);
  CHECK(axis.ticks == std::vector<double>{0, 20, 40, 60, 80, 100});
  CHECK(axis.At(25) == 0.25);
  const Axis decades = MakeAxis({1e-4, NAN, 0, 1}, true, 5);
  CHECK(decades.low == 1e-4);
  REQUIRE(decades.ticks.size() == 5);
  CHECK(decades.At(1e-2) == doctest::Approx(0.5));
  CHECK(MakeAxis({3}, false, 5).low == 1.5);
  CHECK(MakeAxis({}, true, 5).low > 0);
  CHECK(MakeAxis({1e17, 1e17 + 16}, false, 5).ticks.size() <= 11);  // neighbouring doubles
  CHECK(TickText(20000) == "20,000");
  CHECK(TickText(0.0005) == "0.0005");
}

Panel PanelOf(std::vector<PlotPoint> points) {
  Panel panel{.metric = "loss", .curves = {{"a<b", std::move(points)}}, .x = {}, .y = {}};
  panel.x = MakeAxis({0, 4}, false, 4);
  panel.y = MakeAxis({0, 2}, false, 2);
  return panel;
}

TEST_CASE("a curve drawn in characters has a gap at NaN") {
  const Panel panel = PanelOf({{0, 0}, {1, 0}, {2, NAN}, {3, 2}, {4, 2}});
  const std::string text = PlotText(panel, "step", {.width = 40, .height = 3, .unicode = false});
  CHECK(text ==
        "loss\n"
        "2 +                       ********\n"
        "1 +\n"
        "0 +*********\n"
        "  +-------------------------------\n"
        "   0       1      2       3      4  step\n"
        "    * a<b\n");
}

TEST_CASE("an SVG has a line for each stretch, a dot for a single point, and escaped names") {
  const std::string svg =
      PlotSvg({PanelOf({{0, 0}, {1, 1}, {2, NAN}, {3, 2}, {3.5, NAN}, {4, 2}, {4, 1}})}, "step");
  const auto count = [&](const std::string& part) {
    int found = 0;
    for (size_t at = svg.find(part); at != std::string::npos; at = svg.find(part, at + 1)) ++found;
    return found;
  };
  CHECK(count("<polyline") == 2);
  CHECK(count("<circle") == 1);
  CHECK(count("a&lt;b") == 1);
  CHECK(count("nan") == 0);
}

}  // namespace
}  // namespace tpuest::cli
