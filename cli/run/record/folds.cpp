#include "cli/run/record/folds.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "cli/run/record/folder.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {
namespace {

void CheckFolds(const std::vector<ComparedRun>& runs) {
  std::set<std::string> seen;
  for (const ComparedRun& run : runs) {
    const std::string index = config::FindText(run.keys, "tpuest.fold.index").value_or("");
    if (index.empty()) {
      throw Error(Code::kUsage, fmt::format("{}: was not trained with --fold", run.path),
                  "tpuest train job.yaml --fold 1/5");
    }
    if (seen.insert(index).second) continue;
    throw Error(Code::kUsage, fmt::format("{}: another run has fold {} as well", run.path, index));
  }
}

FoldMetric Summed(std::string name, std::vector<double> values) {
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const double deviation = values.size() > 1 ? std::sqrt(squares / (n - 1)) : 0;
  return {std::move(name), std::move(values), mean, deviation};
}

}  // namespace

std::vector<FoldMetric> FoldMetrics(const std::vector<ComparedRun>& runs) {
  CheckFolds(runs);
  std::vector<FoldMetric> metrics;
  for (const Series& series : runs.front().series.series) {
    if (series.of == "train") continue;
    const std::string name = runs.front().series.NameOf(series);
    std::vector<double> values;
    for (const ComparedRun& run : runs) {
      const Series* const of_run = run.series.Named(name);
      if (of_run != nullptr) values.push_back(of_run->points.back().value);
    }
    if (values.size() == runs.size()) metrics.push_back(Summed(name, std::move(values)));
  }
  if (metrics.empty()) {
    throw Error(Code::kUsage, "these folds share no metric of an evaluation",
                "tpuest train-and-evaluate job.yaml --fold I/N, or evaluate each fold");
  }
  return metrics;
}

Json FoldsJson(const std::vector<ComparedRun>& runs, const std::vector<FoldMetric>& metrics) {
  Json paths = Json::array();
  for (const ComparedRun& run : runs) paths.push_back(run.path);
  Json folds = Json::object();
  for (const FoldMetric& metric : metrics) {
    folds[metric.name] = {
        {"mean", metric.mean}, {"deviation", metric.deviation}, {"values", metric.values}};
  }
  return {{"runs", paths}, {"folds", folds}};
}

std::string FoldsText(const std::vector<ComparedRun>& runs,
                      const std::vector<FoldMetric>& metrics) {
  size_t width = 0;
  for (const FoldMetric& metric : metrics) width = std::max(width, metric.name.size());
  std::string text =
      fmt::format("{} of {} folds\n", runs.size(),
                  config::FindText(runs.front().keys, "tpuest.fold.count").value_or(""));
  for (const FoldMetric& metric : metrics) {
    std::vector<std::string> values;
    for (const double value : metric.values) values.push_back(fmt::format("{:.4g}", value));
    text += fmt::format("{:<{}}  {:.4g} +- {:.2g}   {}\n", metric.name, width, metric.mean,
                        metric.deviation, Join(values, " "));
  }
  return text;
}

std::vector<std::string> RunsBelow(const std::string& folder) {
  if (!DirectoryExists(folder)) return {folder};
  // The folder of the folds may also be a run of the whole job.
  const bool is_run = FileExists(ResolvedJobPath(folder));
  std::vector<std::string> runs;
  for (const std::string& name : ListDirectory(folder)) {
    if (is_run && !name.starts_with("fold_")) continue;
    std::string path = JoinPath(folder, name);
    if (FileExists(ResolvedJobPath(path))) runs.push_back(std::move(path));
  }
  if (runs.empty() && is_run) return {folder};
  std::sort(runs.begin(), runs.end());
  return runs;
}

}  // namespace tpuest::cli
