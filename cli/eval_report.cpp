#include "cli/eval_report.h"

#include <cstdio>

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

}  // namespace tpuest::cli
