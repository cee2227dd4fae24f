#include "cli/many/run_list.h"

#include "cli/job/job.h"
#include "cli/manual/catalog.h"
#include "cli/many/sweep/best.h"
#include "cli/run/record/folder.h"
#include "cli/run/record/json.h"
#include "cli/run/record/series.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"

namespace tpuest::cli {
namespace {

constexpr int kLevels = 3;

// The order that the run itself goes by; nullopt where its job does not say, or cannot be read any
// more.
std::optional<MetricOrder> JobsOrder(const std::string& model_dir) {
  const std::string path = ResolvedJobPath(model_dir);
  if (!FileExists(path)) return std::nullopt;
  try {
    config::Sources sources;
    MetricOrder order = OrderOf(LoadJobFile(path, {}, sources).job);
    if (order.metric != MetricOrder{}.metric) return order;
  } catch (const Error&) {
    return std::nullopt;
  }
  return std::nullopt;
}

MetricOrder OrderFor(const std::string& model_dir, const RunSeries& series) {
  if (auto order = JobsOrder(model_dir)) return std::move(*order);
  for (const char* const name : {"accuracy", "auc"}) {
    if (series.Find(name) != nullptr) return {name, "max"};
  }
  return {series.Find("average_loss") != nullptr ? "average_loss" : "loss", "min"};
}

void AddCurves(const std::string& model_dir, ListedRun& run) {
  const RunSeries series = ReadRunSeries(model_dir);
  const Series* const loss = series.Named("train/loss");
  if (loss != nullptr && !loss->points.empty()) run.loss = loss->points.back().value;
  const MetricOrder order = OrderFor(model_dir, series);
  const Series* const metric = series.Find(order.metric);
  if (metric == nullptr || metric->of == "train") return;
  run.metric = order.metric;
  for (const SeriesPoint& point : metric->points) {
    const auto value = static_cast<float>(point.value);
    if (run.best && !order.Better(value, static_cast<float>(*run.best))) continue;
    run.best = point.value;
    run.best_step = point.step;
  }
}

void AddRunJson(const std::string& model_dir, ListedRun& run) {
  const Json json = ReadRunJson(model_dir).value_or(Json::object());
  for (const char* const key : {"start", "end"}) {
    if (json.contains(key) && json[key].is_number()) run.last_change = json[key];
  }
  if (json.contains("exit_code") && json["exit_code"].is_number_integer()) {
    run.exit_code = json["exit_code"];
  }
}

bool IsRun(const std::string& folder) {
  return RunFolder::ExistsIn(folder) || FileExists(CheckpointStatePath(folder));
}

// The newest checkpoint's step; nullopt also for a state file that is damaged or names a missing
// checkpoint.
std::optional<int64_t> StepOf(const std::string& folder) {
  try {
    const auto latest = LatestCheckpoint(folder);
    return latest ? StepOfCheckpoint(*latest) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

ListedRun RunAt(const std::string& folder, const std::string& shown) {
  ListedRun run{.path = shown, .step = StepOf(folder)};
  AddCurves(folder, run);
  run.status = NameOf(RunFolder::StateOf(folder));
  AddRunJson(folder, run);
  return run;
}

void Find(const std::string& folder, const std::string& shown, int levels,
          std::vector<ListedRun>& runs) {
  if (IsRun(folder)) {
    runs.push_back(RunAt(folder, shown.empty() ? folder : shown));
    return;
  }
  if (levels == 0) return;
  for (const std::string& name : ListDirectory(folder)) {
    const std::string path = JoinPath(folder, name);
    if (name.front() == '.' || !DirectoryExists(path)) continue;
    Find(path, shown.empty() ? name : JoinPath(shown, name), levels - 1, runs);
  }
}

// Of all kinds of types: "models", "layers".
std::vector<std::string> KindNames() {
  std::vector<std::string> names;
  for (const Kind& kind : Kinds()) names.emplace_back(kind.name);
  return names;
}

}  // namespace

std::vector<ListedRun> ListRuns(const std::string& folder) {
  if (!DirectoryExists(folder)) {
    throw Error(Code::kData, fmt::format("{}: there is no such folder", folder),
                fmt::format("'tpuest ls' lists the runs in a folder, recipes, {}",
                            Join(KindNames(), ", ")));
  }
  std::vector<ListedRun> runs;
  Find(folder, "", kLevels, runs);
  return runs;
}

}  // namespace tpuest::cli
