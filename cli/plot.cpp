// tpuest plot RUN... [--metric NAME] [--x step|time] [--log-y] [--output FILE.svg]

#include <cmath>

#include "cli/commands.h"
#include "cli/plot_svg.h"
#include "cli/plot_terminal.h"
#include "cli/report.h"
#include "cli/session.h"

namespace tpuest::cli {
namespace {

Json PanelsJson(const std::vector<Panel>& panels) {
  Json curves = Json::array();
  for (const Panel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      Json points = Json::array();
      for (const PlotPoint& point : curve.points) {
        points.push_back({point.x, std::isfinite(point.y) ? Json(point.y) : Json()});
      }
      curves.push_back({{"run", curve.run}, {"metric", panel.metric}, {"points", points}});
    }
  }
  return curves;
}

}  // namespace

int Plot(const Invocation& invocation) {
  return Guarded(invocation, [&](config::Sources& /*sources*/) {
    if (invocation.arguments.empty()) {
      throw Error(Code::kUsage, "plot takes one run or more", "tpuest plot runs/a runs/b");
    }
    const PlotFlags& flags = invocation.plot;
    const std::vector<Panel> panels =
        MakePanels({invocation.arguments, flags.metrics, flags.over_time, flags.log_y});
    const std::string x_name = flags.over_time ? "seconds" : "step";
    if (invocation.output) WriteFileAtomically(*invocation.output, PlotSvg(panels, x_name));
    if (invocation.json) {
      PrintDocument("plot", {{"path", invocation.output ? Json(*invocation.output) : Json()},
                             {"x", x_name},
                             {"curves", PanelsJson(panels)}});
    } else if (invocation.output) {
      fmt::print("{}\n", *invocation.output);
    } else {
      const TextCanvas canvas = CanvasOfStdout();
      for (const Panel& panel : panels) {
        fmt::print("{}{}", &panel == panels.data() ? "" : "\n", PlotText(panel, x_name, canvas));
      }
    }
    return 0;
  });
}

}  // namespace tpuest::cli
