#pragma once
// The curves of a plot, from what runs have left.

#include <optional>
#include <string>
#include <vector>

#include "cli/many/plot/axis.h"

namespace tpuest::cli {

struct PlotPoint {
  double x = 0;
  double y = 0;  // not finite: the curve has a gap
};
struct Curve {
  std::string run;
  std::vector<PlotPoint> points;
};
// One metric of all runs that have it.
struct Panel {
  std::string metric;
  std::vector<Curve> curves;
  Axis x;
  Axis y;
};
struct PlotRequest {
  std::vector<std::string> runs;
  std::vector<std::string> metrics;  // none: train/loss, and loss and accuracy of evaluations
  bool over_time = false;            // seconds since the run's first event, not global steps
  bool log_y = false;
};

// Error kUsage for a folder without a run, or a metric that no run has.
[[nodiscard]] std::vector<Panel> MakePanels(const PlotRequest& request);
// Whether a point can be drawn on the axis.
[[nodiscard]] bool IsDrawn(const Axis& y, double value);

}  // namespace tpuest::cli
