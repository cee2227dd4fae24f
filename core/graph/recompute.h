#pragma once
// Recomputes forward results that were not kept for the backward pass: copies of their nodes,
// ordered after the gradient that needs them.
//
//   x -> [conv -> relu] -> y      nodes in brackets are covered; x and y are kept
//
//   dy ----------------------\    as a control input: not before dy is ready
//   x -> Identity -----------> conv_recomputed -> relu_recomputed
//
// The gradients of relu, conv and all other readers of covered nodes use the copies. Only the
// forward pass reads the originals, so their memory is free when it ends.

#include <map>
#include <vector>

#include "core/graph/gradient.h"

namespace tpuest {

// An attribute of recomputed nodes: the name of the node that they repeat. Counts of the model's
// operations skip them.
inline constexpr std::string_view kRecomputed = "_recomputed";

class Recomputer {
 public:
  // `options` outlives it. The graph's current nodes are the forward pass.
  Recomputer(const Graph& graph, const Recompute& options);

  // Makes the gradient of a node use recomputed values for its covered inputs and outputs. `dys`
  // (valid() or not) are ready by then.
  void Show(Node& node, const std::vector<Value>& dys, GradContext& context);

 private:
  [[nodiscard]] bool IsCovered(const Node& node) const;
  // True if the node is covered and stateless: it depends only on its inputs.
  [[nodiscard]] bool IsAgain(const Node& node) const;
  // Returns the value that a gradient uses: recomputed for a covered node, otherwise the value
  // itself.
  Value Seen(const Value& value);
  const std::vector<Value>& Again(Node& node);
  // Returns a kept value, ordered after the dys.
  Value Kept(const Value& value);

  const Recompute& options_;
  int forward_nodes_;
  std::vector<Node*> after_;                         // the dys of the current gradient
  std::map<Value, Value> kept_;                      // kept values, ordered after those dys
  std::map<const Node*, std::vector<Value>> again_;  // recomputed results
  std::map<const Node*, std::vector<Value>> again_inputs_;
};

}  // namespace tpuest
