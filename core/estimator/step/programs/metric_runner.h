#pragma once
// Runs a metric_fn: its local variables, an update for each batch, the values at the end.

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

  // Starts afresh: the variables are as before the first batch, programs stay.
  void Reset();
  // Drops the graphs, since another model gives the metric_fn.
  void Forget();

  // Adds a batch: the tensors of `metrics`, in the order of their names, every row of the global
  // batch. Batches may come with tensors of other names (a padded one has weights): the metric_fn
  // is then called anew, on the same variables. Error kUsage for a metric named as one that
  // Estimator has itself.
  void Update(const EvalMetrics& metrics, std::span<const Tensor> tensors);
  // The metrics of the batches since Reset, by name; empty before the first Update.
  [[nodiscard]] std::map<std::string, Tensor> Values();

 private:
  using Metrics = std::map<std::string, MetricOps>;
  HostFn<Metrics> fn_;
  bool has_rows_ = false;  // since Reset
};

// The values of a graph's metrics, read from the variables that they are added up in.
[[nodiscard]] std::map<std::string, Tensor> ReadMetrics(
    HostGraph& graph, const std::map<std::string, MetricOps>& metrics);

// Error kUsage, in TensorFlow's words, for a metric named as one that Estimator has itself.
void CheckMetricNames(const std::map<std::string, MetricOps>& metrics);

}  // namespace tpuest
