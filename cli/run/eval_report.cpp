#include "cli/run/eval_report.h"

#include <cmath>
#include <cstdio>

#include "cli/shell/json.h"

namespace tpuest::cli {

Json MetricsJson(const EvaluateResult& result) {
  Json metrics = Json::object();
  for (const auto& [name, value] : result.metrics) metrics[name] = JsonOf(value);
  return metrics;
}

void PrintMetrics(const EvaluateResult& result, const std::string& prefix) {
  for (const auto& [name, value] : result.metrics) {
    if (value.elements() != 1) continue;
    fmt::print("{}{} = {}\n", prefix, name, JsonOf(value.Reshaped({})).dump());
  }
}

std::map<std::string, double> MetricNumbers(const EvaluateResult& result,
                                            const std::string& prefix) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : result.metrics) {
    if (value.elements() != 1) continue;
    const Json shown = JsonOf(value.Reshaped({}));
    numbers[prefix + name] = shown.is_number() ? shown.get<double>() : std::nan("");
  }
  return numbers;
}

}  // namespace tpuest::cli
