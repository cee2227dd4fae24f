#include "core/estimator/step/programs/metric_runner.h"

namespace tpuest {

void CheckMetricNames(const std::map<std::string, MetricOps>& metrics) {
  if (metrics.contains("loss")) {
    throw Error(Code::kUsage,
                "Metric with name \"loss\" is not allowed, because Estimator already defines a "
                "default metric with the same name.");
  }
  if (metrics.contains("global_step")) {
    throw Error(Code::kUsage,
                "Metric with name `global_step` is not allowed, because Estimator already defines "
                "a default metric with the same name.");
  }
}

void MetricRunner::Reset() {
  has_rows_ = false;
  fn_.Reset();
}

void MetricRunner::Forget() {
  has_rows_ = false;
  fn_.Forget();
}

void MetricRunner::Update(const EvalMetrics& metrics, std::span<const Tensor> tensors) {
  has_rows_ = true;
  HostFn<Metrics>::Built& built = fn_.For(metrics.tensors, metrics.fn, CheckMetricNames);
  HostWork work{.feeds = built.Feeds(tensors), .cut = true};
  for (const auto& [name, metric] : built.ops) {
    if (metric.update != nullptr) work.targets.push_back(metric.update);
  }
  built.programs.Run(work);
}

std::map<std::string, Tensor> MetricRunner::Values() {
  HostFn<Metrics>::Built* const built = fn_.Any();
  if (!has_rows_ || built == nullptr) return {};
  return ReadMetrics(built->programs, built->ops);
}

std::map<std::string, Tensor> ReadMetrics(HostGraph& graph,
                                          const std::map<std::string, MetricOps>& metrics) {
  if (metrics.empty()) return {};
  HostWork work;
  for (const auto& [name, metric] : metrics) work.fetches.push_back(metric.value);
  const std::vector<Tensor> fetched = graph.Run(work);
  std::map<std::string, Tensor> values;
  size_t next = 0;
  for (const auto& [name, metric] : metrics) values[name] = fetched[next++];
  return values;
}

}  // namespace tpuest
