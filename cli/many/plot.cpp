// tpuest plot RUN... [--metric NAME] [--x step|time] [--log-y] [--smooth F] [--together]
//   [--output FILE.svg]

#include <cmath>
#include <cstdlib>

#include "cli/many/commands.h"
#include "cli/many/plot/svg.h"
#include "cli/many/plot/terminal.h"
#include "cli/many/sweep/folder.h"
#include "cli/run/record/folder.h"
#include "cli/run/record/folds.h"
#include "cli/shell/json.h"
#include "cli/shell/output_file.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

struct PlotInvocation : Invocation {
  std::vector<std::string> metrics;
  bool over_time = false;
  bool log_y = false;
  double smoothing = 0;
  bool together = false;
  std::optional<std::string> output;
  bool force = false;
};

void Declare(FlagSet& flags, PlotInvocation& to) {
  flags.Repeated("--metric", to.metrics, "NAME",
                 "metric to plot: train/loss, accuracy, EVAL/accuracy; may be repeated");
  flags.Choice<bool>("--x", to.over_time, {{"step", false}, {"time", true}},
                     "unit of the x axis: global steps, or seconds since the run's first event");
  flags.Switch("--log-y", to.log_y, "use a logarithmic y axis");
  const auto smooth = [&to](const std::string& given) -> std::optional<std::string> {
    char* end = nullptr;
    to.smoothing = std::strtod(given.c_str(), &end);
    const bool is_part = !given.empty() && *end == '\0' && to.smoothing >= 0 && to.smoothing < 1;
    return is_part ? std::nullopt : std::optional<std::string>("a number from 0 to below 1");
  };
  flags.Checked(
      "--smooth", smooth, "F",
      "smoothing from 0 to below 1: the share of the previous values in each point; 0.9 is smooth");
  flags.Switch("--together", to.together,
               "draw training and evaluation curves of a metric in one plot");
  flags.Text("--output", to.output, "FILE.svg", "SVG file to write; default: characters on stdout");
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

// The runs that the arguments name: a sweep's or any other folder's where it is none itself; and
// what a sweep's trials are called.
void AddRuns(const std::string& path, PlotRequest& request) {
  const bool is_folder_of_runs = DirectoryExists(path) && !RunFolder::ExistsIn(path);
  if (!is_folder_of_runs) {
    request.runs.push_back(path);
    return;
  }
  if (FileExists(JoinPath(path, "sweep.json"))) {
    const SweepFolder folder(path);
    for (const Trial& trial : folder.Read().trials) {
      const std::string run = folder.RunOf(trial);
      if (!RunFolder::ExistsIn(run)) continue;
      request.runs.push_back(run);
      request.labels[run] = trial.name + " " + Join(trial.Overrides(), " ");
    }
  } else {
    for (const std::string& run : RunsBelow(path)) request.runs.push_back(run);
  }
  if (request.runs.empty()) {
    throw Error(Code::kUsage, fmt::format("{}: is not a run", path),
                "name the model_dir of a run, or the folder of a sweep");
  }
}

int Plot(const PlotInvocation& invocation, config::Sources& /*sources*/) {
  if (invocation.arguments.empty()) {
    throw Error(Code::kUsage, "plot needs at least one run", "tpuest plot runs/a runs/b");
  }
  CheckOutput(invocation);
  PlotRequest request{.runs = {},
                      .metrics = invocation.metrics,
                      .over_time = invocation.over_time,
                      .log_y = invocation.log_y,
                      .labels = {},
                      .smoothing = invocation.smoothing,
                      .together = invocation.together};
  for (const std::string& path : invocation.arguments) AddRuns(path, request);
  const std::vector<Panel> panels = MakePanels(request);
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
       .summary = "plot curves of runs in the terminal or as SVG",
       .examples = {"tpuest plot runs/a runs/b --metric loss",
                    "tpuest plot runs/rates --smooth 0.9 --output rates.svg"},
       .takes = Takes::kPaths},
      Declare, Plot);
}

}  // namespace tpuest::cli
