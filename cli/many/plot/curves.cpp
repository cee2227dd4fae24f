#include "cli/many/plot/curves.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "cli/run/record/folder.h"
#include "cli/run/record/series.h"
#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/io/events/event_reader.h"

namespace tpuest::cli {
namespace {

constexpr int kTicks = 5;

struct Run {
  std::string path;
  RunSeries series;
  std::map<int64_t, double> seconds;  // seconds since the first event, by global step
};

// Seconds since the first event by global step: events carry times, lines of metrics.jsonl do not.
std::map<int64_t, double> SecondsOf(const std::string& run) {
  std::map<int64_t, double> seconds;
  double first = INFINITY;
  for (const std::string& file : EventFiles(run)) {
    for (const EventData& event : ReadEvents(file)) {
      first = std::min(first, event.wall_time);
      if (event.kind == EventData::Kind::kSummary) seconds.emplace(event.step, event.wall_time);
    }
  }
  for (auto& [step, time] : seconds) time -= first;
  return seconds;
}

// The seconds of a step, between those of the events around it, in proportion.
double SecondsAt(const std::map<int64_t, double>& seconds, int64_t step) {
  const auto after = seconds.lower_bound(step);
  if (after == seconds.end()) return seconds.empty() ? NAN : seconds.rbegin()->second;
  if (after == seconds.begin() || after->first == step) return after->second;
  const auto before = std::prev(after);
  const double part =
      static_cast<double>(step - before->first) / static_cast<double>(after->first - before->first);
  return before->second + part * (after->second - before->second);
}

Run ReadRun(const std::string& path, bool over_time) {
  if (!RunFolder::ExistsIn(path)) {
    throw Error(Code::kUsage, fmt::format("{}: is not a run", path), "name the model_dir of a run");
  }
  return {path, ReadRunSeries(path), over_time ? SecondsOf(path) : std::map<int64_t, double>()};
}

std::vector<std::string> UsualMetrics(const std::vector<Run>& runs, bool together) {
  std::vector<std::string> metrics;
  for (const Run& run : runs) {
    for (const Series& series : run.series.series) {
      const bool is_usual =
          series.metric == "loss" || (series.of != "train" && series.metric == "accuracy");
      const std::string name = together ? series.metric : run.series.NameOf(series);
      const bool is_new = std::find(metrics.begin(), metrics.end(), name) == metrics.end();
      if (is_usual && is_new) metrics.push_back(name);
    }
  }
  return metrics;
}

// The exponential mean of a curve's values, without the bias of its start; gaps stay.
void Smooth(double factor, std::vector<PlotPoint>& points) {
  double mean = 0;
  double weight = 0;
  for (PlotPoint& point : points) {
    if (!std::isfinite(point.y)) continue;
    mean = factor * mean + (1 - factor) * point.y;
    weight = factor * weight + (1 - factor);
    point.y = mean / weight;
  }
}

Curve CurveOf(const Run& run, const Series& series, const PlotRequest& request) {
  const auto label = request.labels.find(run.path);
  Curve curve{label == request.labels.end() ? run.path : label->second, {}};
  if (request.together) curve.run += " " + series.of;
  for (const SeriesPoint& point : series.points) {
    const double x =
        request.over_time ? SecondsAt(run.seconds, point.step) : static_cast<double>(point.step);
    if (std::isfinite(x)) curve.points.push_back({x, point.value});
  }
  if (request.smoothing > 0) Smooth(request.smoothing, curve.points);
  return curve;
}

// The curves of a run that belong into a panel.
std::vector<const Series*> SeriesFor(const Run& run, const std::string& metric, bool is_asked_for,
                                     bool together) {
  std::vector<const Series*> series;
  if (together) {
    for (const Series& one : run.series.series) {
      if (one.metric == metric) series.push_back(&one);
    }
  } else if (const Series* const one =
                 is_asked_for ? run.series.Find(metric) : run.series.Named(metric)) {
    series.push_back(one);
  }
  return series;
}

std::vector<std::string> NamesIn(const std::vector<Run>& runs) {
  std::vector<std::string> names;
  for (const Run& run : runs) {
    for (const Series& series : run.series.series) names.push_back(run.series.NameOf(series));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Panel PanelOf(const std::vector<Run>& runs, const std::string& metric, bool is_asked_for,
              const PlotRequest& request) {
  Panel panel{.metric = metric, .curves = {}, .x = {}, .y = {}};
  std::vector<double> xs;
  std::vector<double> ys;
  for (const Run& run : runs) {
    for (const Series* const series : SeriesFor(run, metric, is_asked_for, request.together)) {
      panel.curves.push_back(CurveOf(run, *series, request));
      for (const PlotPoint& point : panel.curves.back().points) {
        xs.push_back(point.x);
        ys.push_back(point.y);
      }
    }
  }
  if (panel.curves.empty()) {
    const std::vector<std::string> names = NamesIn(runs);
    throw Error(Code::kUsage, fmt::format("--metric {}: no run has this metric", metric),
                names.empty() ? "the runs have no metrics yet" : "metrics: " + Join(names, ", "));
  }
  panel.x = MakeAxis(xs, false, kTicks);
  panel.y = MakeAxis(ys, request.log_y, kTicks);
  return panel;
}

}  // namespace

bool IsDrawn(const Axis& y, double value) {
  return std::isfinite(value) && (!y.logarithmic || value > 0);
}

std::vector<Panel> MakePanels(const PlotRequest& request) {
  std::vector<Run> runs;
  for (const std::string& path : request.runs) runs.push_back(ReadRun(path, request.over_time));
  const bool is_asked_for = !request.metrics.empty();
  const std::vector<std::string> metrics =
      is_asked_for ? request.metrics : UsualMetrics(runs, request.together);
  if (metrics.empty()) {
    throw Error(Code::kUsage, "no run has logged a loss yet",
                "run_config.log_step_count_steps sets how often the loss is logged");
  }
  std::vector<Panel> panels;
  for (const std::string& metric : metrics) {
    panels.push_back(PanelOf(runs, metric, is_asked_for, request));
  }
  return panels;
}

}  // namespace tpuest::cli
