#pragma once
// Makes the curves of a plot from the files of runs.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/many/plot/axis.h"

namespace tpuest::cli {

// x is a global step or seconds.
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
  std::vector<std::string> metrics;  // empty: train/loss, and loss and accuracy of evaluations
  bool over_time = false;            // x is seconds since the run's first event, not global steps
  bool log_y = false;
  std::map<std::string, std::string> labels =
      {};  // names of runs; a run without a name is shown by its path
  // Each value becomes a mean of the values up to it, whose weights fall by this factor per point.
  // 0 does not smooth.
  double smoothing = 0;
  bool together = false;  // training and evaluations of a metric in one panel
};

// Returns one panel per metric, in the request's order. Error kUsage for a folder without a run, a
// metric that no run has, and runs that have logged no loss.
[[nodiscard]] std::vector<Panel> MakePanels(const PlotRequest& request);
// Returns true if a value can be drawn on the axis: finite, and positive on a logarithmic axis.
[[nodiscard]] bool IsDrawn(const Axis& y, double value);

}  // namespace tpuest::cli
