#pragma once
// Makes the curves of a plot from the files that runs have left.

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
  std::map<std::string, std::string> labels = {};  // what a run is called; its path, if not here
  // Each value is the mean of those before it, which count less the further back they are: by this
  // factor a point. 0: as they are.
  double smoothing = 0;
  bool together = false;  // training and evaluations of a metric in one panel
};

// One panel a metric, in the request's order. Error kUsage for a folder without a run, a metric
// that no run has, and runs that have logged no loss.
[[nodiscard]] std::vector<Panel> MakePanels(const PlotRequest& request);
// True where a value can be drawn on the axis: it is finite, and positive on a logarithmic one.
[[nodiscard]] bool IsDrawn(const Axis& y, double value);

}  // namespace tpuest::cli
