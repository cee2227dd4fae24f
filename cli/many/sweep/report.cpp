#include "cli/many/sweep/report.h"

#include <algorithm>
#include <cmath>

#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// Maximum number of metrics in a table; --json has all.
constexpr size_t kMostColumns = 4;

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json LastOf(const Series* series) {
  return series == nullptr || series->points.empty() ? Json()
                                                     : NumberOrNull(series->points.back().value);
}

Json MetricsJson(const RunSeries& run) {
  Json metrics = Json::object();
  for (const Series& series : run.series) {
    if (series.of != "train") metrics[run.NameOf(series)] = LastOf(&series);
  }
  return metrics;
}

std::string Cell(const Json& value) {
  if (value.is_null()) return "-";
  return value.is_number_float() ? fmt::format("{:.6g}", value.get<double>()) : value.dump();
}

// The evaluations' metrics that the table shows, by name.
std::vector<std::string> Columns(const std::vector<TrialResult>& results,
                                 const MetricOrder& order) {
  std::vector<std::string> names;
  for (const TrialResult& result : results) {
    for (const Series& series : result.series.series) {
      const std::string name = result.series.NameOf(series);
      const bool is_new = std::find(names.begin(), names.end(), name) == names.end();
      if (series.of != "train" && is_new) names.push_back(name);
    }
  }
  if (names.size() <= kMostColumns) return names;
  std::erase_if(names, [&](const std::string& name) {
    return name != order.metric && name != "loss" && name != "accuracy";
  });
  return names;
}

std::string StatusText(const TrialStatus& status) {
  const bool says_code = status.exit_code && *status.exit_code != 0;
  return says_code ? fmt::format("{} ({})", status.status, *status.exit_code) : status.status;
}

std::vector<std::string> Header(const std::vector<TrialResult>& results,
                                const std::vector<std::string>& metrics) {
  std::vector<std::string> header = {"", "trial"};
  for (const auto& [key, value] : results[0].trial.values) header.push_back(key);
  for (const char* const name : {"status", "step", "train/loss"}) header.emplace_back(name);
  header.insert(header.end(), metrics.begin(), metrics.end());
  return header;
}

std::vector<std::string> RowOf(const TrialResult& result, const std::vector<std::string>& metrics,
                               bool is_best) {
  std::vector<std::string> row = {is_best ? "*" : " ", result.trial.name};
  for (const auto& [key, value] : result.trial.values) row.push_back(value);
  row.push_back(StatusText(result.status));
  const std::optional<int64_t> step = result.series.last_step();
  row.push_back(step ? WithCommas(*step) : "-");
  row.push_back(Cell(LastOf(result.series.Named("train/loss"))));
  for (const std::string& metric : metrics)
    row.push_back(Cell(LastOf(result.series.Named(metric))));
  return row;
}

}  // namespace

Json OverridesJson(const Trial& trial) {
  Json values = Json::object();
  for (const auto& [key, value] : trial.values) values[key] = value;
  return values;
}

Json BestJson(const SweepFolder& folder, const TrialResult& best, const MetricOrder& order) {
  return {{"trial", best.trial.name},
          {"path", folder.RunOf(best.trial)},
          {"overrides", OverridesJson(best.trial)},
          {"metric", order.metric},
          {"mode", order.mode},
          {"value", NumberOrNull(ValueOf(best, order))}};
}

Json SweepJson(const SweepFolder& folder, const SweepRecord& record,
               const std::vector<TrialResult>& results, const MetricOrder& order) {
  Json trials = Json::array();
  for (const TrialResult& result : results) {
    const std::optional<int64_t> step = result.series.last_step();
    const std::optional<int>& code = result.status.exit_code;
    trials.push_back({{"index", result.trial.index},
                      {"trial", result.trial.name},
                      {"path", folder.RunOf(result.trial)},
                      {"overrides", OverridesJson(result.trial)},
                      {"status", result.status.status},
                      {"exit_code", code ? Json(*code) : Json()},
                      {"global_step", step ? Json(*step) : Json()},
                      {"loss", LastOf(result.series.Named("train/loss"))},
                      {"metrics", MetricsJson(result.series)}});
  }
  const TrialResult* const best = BestOf(results, order);
  return {{"path", folder.path()},
          {"job", record.job},
          {"trials", trials},
          {"best", best == nullptr ? Json() : BestJson(folder, *best, order)}};
}

std::string SweepText(const SweepFolder& folder, const std::vector<TrialResult>& results,
                      const MetricOrder& order) {
  const std::vector<std::string> metrics = Columns(results, order);
  const TrialResult* const best = BestOf(results, order);
  std::vector<std::vector<std::string>> rows = {Header(results, metrics)};
  for (const TrialResult& result : results) {
    rows.push_back(RowOf(result, metrics, &result == best));
  }
  std::vector<bool> right(rows[0].size(), true);
  right[0] = right[1] = false;
  right[2 + results[0].trial.values.size()] = false;  // the status is text, flush left
  std::string text = TableText(right, rows);
  if (best == nullptr) return text;
  return text + fmt::format("best: {} ({} {:.6g})\n", folder.RunOf(best->trial), order.metric,
                            ValueOf(*best, order));
}

}  // namespace tpuest::cli
