#pragma once
// Where a hook adds nodes of its own: they run on the host between two loops and read the model's
// variables as they are then. The model's graph, and what is saved of it, stays as it is.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/estimator/step/host_graph.h"

namespace tpuest {

class HookGraph {
 public:
  // All of them outlive it.
  HookGraph(Backend& backend, const OpRegistry& registry, VariableStore& variables,
            const Graph& model)
      : backend_(backend), registry_(registry), variables_(variables), model_(model) {}

  // Has the model's variables, by FindVariable.
  [[nodiscard]] Graph& graph();
  // The values of these nodes of graph(). Error kUsage, in TensorFlow's words, for one of the
  // model's, which live on the device.
  [[nodiscard]] std::vector<Tensor> Run(const std::vector<Value>& fetches);

  // Values of placeholders of graph(), for every Run from now on.
  void Feed(const std::vector<std::pair<Value, Tensor>>& feeds);

 private:
  Backend& backend_;
  const OpRegistry& registry_;
  VariableStore& variables_;
  const Graph& model_;
  std::optional<Graph> graph_;  // made when it is asked for
  std::optional<HostGraph> programs_;
  std::map<Value, Tensor> fed_;
};

}  // namespace tpuest
