#pragma once
// The graph to which hooks add their own nodes. They run on the host between two loops and read the
// current values of the model's variables. The model's graph, and what is saved of it, does not
// change.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/estimator/step/programs/host_graph.h"

namespace tpuest {

class HookGraph {
 public:
  // The arguments outlive it.
  HookGraph(Backend& backend, const OpRegistry& registry, VariableStore& variables,
            const Graph& model)
      : backend_(backend), registry_(registry), variables_(variables), model_(model) {}

  // The graph, made on first use; FindVariable finds the model's variables in it.
  [[nodiscard]] Graph& graph();
  // Returns the values of these nodes of graph(). Throws Error kUsage, in TensorFlow's words, for a
  // node of the model, which is on the device.
  [[nodiscard]] std::vector<Tensor> Run(const std::vector<Value>& fetches);

  // Sets the values of placeholders of graph() for every Run from now on.
  void Feed(const std::vector<std::pair<Value, Tensor>>& feeds);

 private:
  Backend& backend_;
  const OpRegistry& registry_;
  VariableStore& variables_;
  const Graph& model_;
  std::optional<Graph> graph_;  // made on first use
  std::optional<HostGraph> programs_;
  std::map<Value, Tensor> fed_;
};

}  // namespace tpuest
