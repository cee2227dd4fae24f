#pragma once
// Runs a metric_fn: its local variables, an update for each batch, the values at the end.

#include <map>
#include <memory>
#include <string>

#include "core/backend/backend.h"
#include "core/estimator/contract.h"

namespace tpuest {

class MetricRunner {
 public:
  // `tensors` are the ones that Update will get, of any number of rows. Error kUsage for a metric
  // named as one that Estimator has itself.
  MetricRunner(Backend& backend, const OpRegistry& registry, int threads, const MetricFn& metric_fn,
               const std::map<std::string, Value>& tensors);

  // In the order of the tensors' names; every row of the global batch.
  void Update(const std::vector<Tensor>& tensors);
  [[nodiscard]] std::map<std::string, Tensor> Values();

 private:
  void CheckNames() const;

  Backend& backend_;
  const int threads_;
  std::unique_ptr<Graph> graph_;
  std::vector<Value> inputs_;
  std::map<std::string, MetricOps> metrics_;
  VariableStore variables_;
  std::map<std::vector<int64_t>, std::unique_ptr<Program>> updates_;  // by rows of each input
};

}  // namespace tpuest
