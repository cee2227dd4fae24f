#pragma once
// Runs a metric_fn: its local variables, an update for each batch, the values at the end.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/base/log.h"
#include "core/estimator/contract/contract.h"
#include "core/estimator/step/outfed_graph.h"

namespace tpuest {

// Reads what metrics of a graph have come to, from the variables that they were added up in.
class MetricValues {
 public:
  // All of them outlive it.
  MetricValues(Backend& backend, const Graph& graph,
               const std::map<std::string, MetricOps>& metrics, int threads,
               VariableStore& variables);
  [[nodiscard]] std::map<std::string, Tensor> Read();

 private:
  const std::map<std::string, MetricOps>& metrics_;
  std::unique_ptr<Program> program_;
};

class MetricRunner {
 public:
  // `model` has the values of the model's variables, for a metric_fn that reads them by name.
  MetricRunner(Backend& backend, const OpRegistry& registry, Log& log, int threads,
               const VariableStore& model)
      : backend_(backend), registry_(registry), log_(log), threads_(threads), model_(model) {}

  // Starts afresh: the variables are as before the first batch, programs stay.
  void Reset();
  // The model that gave the metric_fn is another one.
  void Forget();

  // Adds a batch: the tensors of `metrics`, in the order of their names, every row of the global
  // batch. Batches may come with tensors of other names (a padded one has weights): the metric_fn
  // is then called anew, on the same variables. Error kUsage for a metric named as one that
  // Estimator has itself.
  void Update(const EvalMetrics& metrics, std::span<const Tensor> tensors);
  // Empty before the first Update.
  [[nodiscard]] std::map<std::string, Tensor> Values();

 private:
  // A metric_fn's graph for tensors of certain names.
  struct Built {
    OutfedGraph on;
    std::map<std::string, MetricOps> metrics;
    std::map<std::vector<int64_t>, std::unique_ptr<Program>> updates;  // by rows of each input
    std::unique_ptr<MetricValues> values;
  };
  void InitializeMissing(const Graph& graph);
  Built& BuiltFor(const EvalMetrics& metrics);
  Program& UpdateFor(Built& built, std::span<const Tensor> tensors);

  Backend& backend_;
  const OpRegistry& registry_;
  Log& log_;
  const int threads_;
  const VariableStore& model_;
  VariableStore variables_;
  // What each started with, or nothing where it is the model's.
  std::map<std::string, Tensor> initial_;
  bool has_rows_ = false;                            // since it was started
  std::map<std::vector<std::string>, Built> built_;  // by the tensors' names
};

// Error kUsage, in TensorFlow's words, for a metric named as one that Estimator has itself.
void CheckMetricNames(const std::map<std::string, MetricOps>& metrics);

}  // namespace tpuest
