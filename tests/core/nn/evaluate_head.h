#pragma once
// Evaluates loss, metrics and errors of a head on one batch.

#include <map>
#include <string>
#include <vector>

#include "core/nn/heads/heads.h"
#include "core/nn/metrics/extra_metrics.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {

struct Evaluated {
  float loss = 0;
  std::map<std::string, float> metrics;
};

inline Evaluated Evaluate(Session& session, const AnyHead& head, const HeadInputs& inputs,
                          const std::vector<ExtraMetric>& extra = {}) {
  const HeadOutputs outputs = BuildHead(head, inputs);
  MetricBuilders builders = ExtraMetricBuilders(extra, outputs.metric_tensors);
  builders.insert(outputs.metrics.begin(), outputs.metrics.end());
  const auto metrics = BuildMetrics(session.graph(), builders, outputs.metric_tensors);
  session.Initialize();
  Evaluated result{.loss = session.Float(outputs.loss)};
  for (const auto& [name, metric] : metrics) session.Step(metric.update);
  for (const auto& [name, metric] : metrics) result.metrics[name] = session.Float(metric.value);
  return result;
}

// The message of the head's Error for these inputs; "" if it throws none.
inline std::string MessageOf(Session& /*session*/, const AnyHead& head, const HeadInputs& inputs) {
  try {
    (void)BuildHead(head, inputs);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace tpuest::nn
