#include "cli/many/sweep/best.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/job/job.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

const BestExporterOptions* BestExporterOf(const Job& job, std::string& label) {
  for (const NamedEvalSpec& named : EvalSpecsOf(job)) {
    for (const AnyExporter& exporter : named.spec->exporters) {
      label = named.label;
      if (const auto* const best = std::get_if<BestExporterOptions>(&exporter)) return best;
    }
  }
  return nullptr;
}

std::string NameFor(const Job& job, const std::string& label, const std::string& metric) {
  return EvalSpecsOf(job).size() > 1 ? label + "/" + metric : metric;
}

bool Holds(const std::string& name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.find(part) != std::string::npos; });
}

std::optional<std::string> ModeByName(const std::string& metric) {
  if (Holds(metric, {"loss", "error", "perplexity"})) return "min";
  if (Holds(metric, {"accuracy", "auc", "precision", "recall", "f1"})) return "max";
  return std::nullopt;
}

}  // namespace

std::vector<TrialResult> ReadResults(const SweepFolder& folder, const SweepRecord& record) {
  std::vector<TrialResult> results;
  for (const Trial& trial : record.trials) {
    results.push_back(
        {trial, folder.StatusOf(trial, record.overrides), ReadRunSeries(folder.RunOf(trial))});
  }
  return results;
}

MetricOrder OrderOf(const Job& job) {
  if (const auto& keep = job.estimator.run_config.keep_best) {
    const std::vector<NamedEvalSpec> specs = EvalSpecsOf(job);
    const std::string first = specs.empty() ? "" : specs[0].label;
    return {NameFor(job, keep->eval.value_or(first), keep->metric), keep->mode};
  }
  std::string label;
  if (const BestExporterOptions* const exporter = BestExporterOf(job, label)) {
    return {NameFor(job, label, exporter->compare.metric), exporter->compare.mode};
  }
  return {};
}

MetricOrder ChosenOrder(const MetricOrder& recorded, const std::optional<std::string>& metric,
                        const std::optional<std::string>& mode) {
  MetricOrder order = recorded;
  if (metric && *metric != recorded.metric) {
    const std::optional<std::string> known = ModeByName(*metric);
    if (!known && !mode) {
      throw Error(Code::kUsage,
                  fmt::format("--metric {}: unknown whether smaller or larger is better", *metric),
                  "--mode min, or --mode max");
    }
    order = {*metric, known.value_or("min")};
  }
  if (mode) order.mode = *mode;
  return order;
}

double ValueOf(const TrialResult& result, const MetricOrder& order) {
  const Series* const series = result.series.Find(order.metric);
  return series == nullptr || series->points.empty() ? std::numeric_limits<double>::quiet_NaN()
                                                     : series->points.back().value;
}

const TrialResult* BestOf(const std::vector<TrialResult>& results, const MetricOrder& order) {
  const TrialResult* best = nullptr;
  for (const TrialResult& result : results) {
    const double value = ValueOf(result, order);
    if (!result.status.done() || std::isnan(value)) continue;
    const double least = best == nullptr ? value : ValueOf(*best, order);
    const bool is_better = order.mode == "max" ? value > least : value < least;
    if (best == nullptr || is_better) best = &result;
  }
  return best;
}

}  // namespace tpuest::cli
