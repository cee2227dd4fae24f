#pragma once
// Runs a metric_fn: its local variables, an update per batch, the values at the end.

#include <map>
#include <span>
#include <string>

#include "core/estimator/contract/contract.h"
#include "core/estimator/step/programs/host_fn.h"

namespace tpuest {

class MetricRunner {
 public:
  // `model` has the values of the model's variables, for a metric_fn that reads them by name.
  MetricRunner(Backend& backend, const OpRegistry& registry, Log& log, int threads,
               const VariableStore& model)
      : fn_({.name = "eval_metrics",
             .backend = backend,
             .registry = registry,
             .log = log,
             .threads = threads,
             .model = &model}) {}

  // Resets the variables to their state before the first batch; programs stay.
  void Reset();
  // Drops the graphs, because another model provides the metric_fn.
  void Forget();

  // Adds a batch: the tensors of `metrics`, in the order of their names, with every row of the
  // global batch. If a batch has tensors of other names (a padded one has weights), the metric_fn
  // is called again, on the same variables. Throws Error kUsage for a metric with a name that
  // Estimator reserves.
  void Update(const EvalMetrics& metrics, std::span<const Tensor> tensors);
  // The metrics of the batches since Reset, by name; empty before the first Update.
  [[nodiscard]] std::map<std::string, Tensor> Values();

 private:
  using Metrics = std::map<std::string, MetricOps>;
  HostFn<Metrics> fn_;
  bool has_rows_ = false;  // since Reset
};

// Returns the values of a graph's metrics, computed from their variables.
[[nodiscard]] std::map<std::string, Tensor> ReadMetrics(
    HostGraph& graph, const std::map<std::string, MetricOps>& metrics);

// Throws Error kUsage, in TensorFlow's words, for a metric with a name that Estimator reserves.
void CheckMetricNames(const std::map<std::string, MetricOps>& metrics);

}  // namespace tpuest
