// tpuest plot RUN... [--metric NAME] [--x step|time] [--log-y] [--output FILE.svg]

#include <cmath>

#include "cli/many/commands.h"
#include "cli/many/plot/svg.h"
#include "cli/many/plot/terminal.h"
#include "cli/shell/json.h"
#include "cli/shell/output_file.h"
#include "core/base/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

struct PlotInvocation : Invocation {
  std::vector<std::string> metrics;
  bool over_time = false;
  bool log_y = false;
  std::optional<std::string> output;
  bool force = false;
};

void Declare(FlagSet& flags, PlotInvocation& to) {
  flags.Repeated("--metric", to.metrics, "NAME",
                 "a plot of this: train/loss, accuracy, EVAL/accuracy; again for another");
  flags.Choice<bool>("--x", to.over_time, {{"step", false}, {"time", true}},
                     "global steps, or seconds since the run's first event");
  flags.Switch("--log-y", to.log_y, "a logarithmic y axis");
  flags.Text("--output", to.output, "FILE.svg", "an SVG file; without it characters on stdout");
  flags.Switch("--force", to.force, "overwrite the SVG file");
}

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

void CheckOutput(const PlotInvocation& invocation) {
  if (!invocation.output) return;
  if (!EndsWith(*invocation.output, ".svg")) {
    throw Error(Code::kUsage,
                fmt::format("--output {}: expected a name that ends in .svg", *invocation.output));
  }
  CheckNewFile(*invocation.output, invocation.force);
}

int Plot(const PlotInvocation& invocation, config::Sources& /*sources*/) {
  if (invocation.arguments.empty()) {
    throw Error(Code::kUsage, "plot takes one run or more", "tpuest plot runs/a runs/b");
  }
  CheckOutput(invocation);
  const std::vector<Panel> panels = MakePanels(
      {invocation.arguments, invocation.metrics, invocation.over_time, invocation.log_y});
  const std::string x_name = invocation.over_time ? "seconds" : "step";
  if (invocation.output && !invocation.dry_run) {
    WriteFileAtomically(*invocation.output, PlotSvg(panels, x_name));
  }
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
}

}  // namespace

Command PlotCommand() {
  return MakeCommand<PlotInvocation>(
      {.name = "plot",
       .summary = "draw curves of runs, here or as SVG",
       .examples = {"tpuest plot runs/a runs/b --metric loss",
                    "tpuest plot runs/a runs/b --metric loss --output loss.svg"},
       .takes = Takes::kPaths},
      Declare, Plot);
}

}  // namespace tpuest::cli
