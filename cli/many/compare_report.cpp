#include "cli/many/compare_report.h"

#include <algorithm>
#include <cmath>

#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

using Row = std::vector<std::string>;
// Longer values, such as lists of files, are cut in the table.
constexpr size_t kMostCharacters = 60;  // a text of input files has up to about as many
constexpr size_t kMostNames = 4;

Json NumberOrNull(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json TextOrNull(const std::optional<std::string>& text) { return text ? Json(*text) : Json(); }

std::string Shortened(const std::string& text) {
  return text.size() <= kMostCharacters ? text : text.substr(0, kMostCharacters - 3) + "...";
}

// The names of all curves that end in a result, in the order of the first run.
Row ResultNames(const std::vector<ComparedRun>& runs) {
  Row names;
  for (const ComparedRun& run : runs) {
    for (const Series& series : run.series.series) {
      if (series.of == "train" && series.metric != "loss") continue;
      const std::string name = run.series.NameOf(series);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::optional<double> ResultOf(const ComparedRun& run, const std::string& name) {
  const Series* const series = run.series.Named(name);
  if (series == nullptr || series->points.empty()) return std::nullopt;
  return series->points.back().value;
}

// 1: more is better; -1: less is; 0: not known. By the words that names of metrics are made of.
int BetterWay(const std::string& metric) {
  const auto has = [&](std::string_view word) { return metric.find(word) != std::string::npos; };
  for (const char* const word : {"loss", "error", "false_"}) {
    if (has(word)) return -1;
  }
  for (const char* const word : {"accuracy", "auc", "precision", "recall", "r2_score", "top_",
                                 "sensitivity", "specificity", "true_"}) {
    if (has(word) && !has("baseline")) return 1;
  }
  return 0;
}

// "0.91 (+0.02)" beside a baseline.
std::string ResultText(const CompareReport& report, size_t run, const std::string& name) {
  const std::optional<double> value = ResultOf(report.runs[run], name);
  if (!value) return "-";
  const std::optional<double> base = ResultOf(report.runs[0], name);
  if (!report.has_baseline || run == 0 || !base) return NumberText(*value);
  const double change = *value - *base;
  const int way = BetterWay(name);
  const std::string word = change == 0 || way == 0     ? ""
                           : (change > 0) == (way > 0) ? " better"
                                                       : " worse";
  return fmt::format("{} ({:+.3g}{})", NumberText(*value), change, word);
}

std::string ResultsTable(const CompareReport& report) {
  std::vector<Row> rows = {{"results"}, {"  step"}};
  for (const ComparedRun& run : report.runs) {
    rows[0].push_back(run.path);
    const std::optional<int64_t> step = run.series.last_step();
    rows[1].push_back(step ? WithCommas(*step) : "-");
  }
  for (const std::string& name : ResultNames(report.runs)) {
    Row row = {"  " + name};
    for (size_t run = 0; run < report.runs.size(); ++run) {
      row.push_back(ResultText(report, run, name));
    }
    rows.push_back(std::move(row));
  }
  std::vector<bool> right(rows[0].size(), true);
  right[0] = false;
  return TableText(right, rows);
}

std::string KeysTable(const std::string& title, const std::vector<ComparedRun>& runs,
                      const std::vector<KeyDifference>& differences) {
  if (differences.empty()) return "";
  std::vector<Row> rows = {{title}};
  for (const ComparedRun& run : runs) rows[0].push_back(run.path);
  for (const KeyDifference& difference : differences) {
    Row row = {"  " + difference.path};
    for (const auto& value : difference.values) row.push_back(Shortened(value.value_or("-")));
    rows.push_back(std::move(row));
  }
  return TableText(std::vector<bool>(rows[0].size(), false), rows) + "\n";
}

std::string LossesText(const Parting& parting) {
  if (parting.common_losses == 0) return "both runs logged no loss at the same step";
  if (!parting.losses)
    return fmt::format("the same at all {} steps logged by both", parting.common_losses);
  return fmt::format("first differ at step {} of {} logged by both: {} and {}",
                     parting.losses->step, parting.common_losses, NumberText(parting.losses->a),
                     NumberText(parting.losses->b));
}

std::string ParametersText(const Parting& parting) {
  if (parting.common_checkpoints.empty()) return "the runs have no checkpoints of the same step";
  if (!parting.parameters) {
    return fmt::format("the same in all {} checkpoints of the same step",
                       parting.common_checkpoints.size());
  }
  const ParameterDifference& first = *parting.parameters;
  Row names(first.variables.begin(),
            first.variables.begin() +
                static_cast<std::ptrdiff_t>(std::min(first.variables.size(), kMostNames)));
  if (first.variables.size() > kMostNames) names.emplace_back("...");
  return fmt::format("first differ at step {} of the shared checkpoints: {} of {} ({})", first.step,
                     first.variables.size(), first.of, Join(names, ", "));
}

std::string CandidatesLine(const CompareReport& report) {
  if (!report.differs()) return "";
  return "candidates: " + CandidatesText(report.Candidates()) + "\n";
}

Json KeysJson(const std::vector<KeyDifference>& differences) {
  Json keys = Json::array();
  for (const KeyDifference& difference : differences) {
    Json values = Json::array();
    for (const auto& value : difference.values) values.push_back(TextOrNull(value));
    keys.push_back({{"key", difference.path},
                    {"values", values},
                    {"can_change_bits", difference.can_change_bits}});
  }
  return keys;
}

Json PartingJson(const std::string& run, const Parting& parting) {
  Json losses;
  if (parting.losses) {
    losses = {{"step", parting.losses->step},
              {"values", {NumberOrNull(parting.losses->a), NumberOrNull(parting.losses->b)}}};
  }
  Json parameters;
  if (parting.parameters) {
    parameters = {{"step", parting.parameters->step},
                  {"variables", parting.parameters->variables},
                  {"of", parting.parameters->of}};
  }
  return {{"run", run},
          {"losses", losses},
          {"common_losses", parting.common_losses},
          {"parameters", parameters},
          {"common_checkpoints", parting.common_checkpoints}};
}

Json RunJson(const ComparedRun& run) {
  const std::optional<int64_t> step = run.series.last_step();
  Json json = {{"path", run.path}, {"global_step", step ? Json(*step) : Json()}};
  for (const auto& [key, value] : run.program) json[key] = value;
  json["metrics"] = Json::object();
  for (const std::string& name : ResultNames({run})) {
    json["metrics"][name] = NumberOrNull(ResultOf(run, name).value_or(NAN));
  }
  return json;
}

}  // namespace

bool CompareReport::differs() const {
  return std::any_of(partings.begin(), partings.end(),
                     [](const Parting& p) { return p.differs(); });
}

std::vector<std::string> CompareReport::Candidates() const {
  return differs() ? CandidatesOf(keys, program) : std::vector<std::string>();
}

std::vector<BaselineChange> ChangesFrom(const ComparedRun& baseline, const ComparedRun& run) {
  std::vector<BaselineChange> changes;
  for (const std::string& name : ResultNames({baseline})) {
    const std::optional<double> before = ResultOf(baseline, name);
    const std::optional<double> now = ResultOf(run, name);
    if (!before || !now) continue;
    BaselineChange change{.metric = name, .difference = *now - *before, .worse = {}};
    // A result that is no number is worse than one that is.
    const int way = BetterWay(name);
    if (way != 0)
      change.worse = std::isnan(*now) ? !std::isnan(*before) : way * change.difference < 0;
    changes.push_back(std::move(change));
  }
  return changes;
}

Json CompareJson(const CompareReport& report) {
  Json runs = Json::array();
  for (const ComparedRun& run : report.runs) runs.push_back(RunJson(run));
  for (size_t i = 1; report.has_baseline && i < report.runs.size(); ++i) {
    Json changes = Json::object();
    for (const BaselineChange& change : ChangesFrom(report.runs[0], report.runs[i])) {
      changes[change.metric] = {{"difference", NumberOrNull(change.difference)},
                                {"worse", OrNull(change.worse)}};
    }
    runs[i]["changes"] = changes;
  }
  Json partings = Json::array();
  for (size_t i = 0; i < report.partings.size(); ++i) {
    partings.push_back(PartingJson(report.runs[i + 1].path, report.partings[i]));
  }
  return {{"runs", runs},
          {"keys", KeysJson(report.keys)},
          {"partings", partings},
          {"candidates", report.Candidates()}};
}

std::string CompareText(const CompareReport& report) {
  std::vector<KeyDifference> harmful;
  std::vector<KeyDifference> harmless;
  for (const KeyDifference& key : report.keys) {
    (key.can_change_bits ? harmful : harmless).push_back(key);
  }
  std::string text =
      KeysTable("keys that differ", report.runs, harmful) +
      KeysTable("keys that differ without effect on the results", report.runs, harmless) +
      KeysTable("programs, machines and input files", report.runs, report.program);
  if (text.empty()) text = "the jobs are the same\n\n";
  text += ResultsTable(report) + "\n";
  for (size_t i = 0; i < report.partings.size(); ++i) {
    text += fmt::format("{} and {}\n  losses      {}\n  parameters  {}\n", report.runs[0].path,
                        report.runs[i + 1].path, LossesText(report.partings[i]),
                        ParametersText(report.partings[i]));
  }
  return text + CandidatesLine(report);
}

}  // namespace tpuest::cli
