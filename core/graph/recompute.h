#pragma once
// Forward results for the backward pass that were not kept: their nodes once more, behind the
// gradient that asks for them.
//
//   x -> [conv -> relu] -> y      the brackets are covered, x and y are kept
//
//   dy ----------------------\    as a control input: not before dy is there
//   x -> Identity -----------> conv_recomputed -> relu_recomputed
//
// and the gradients of relu, of conv and of whatever else reads the two see the nodes below.
// Nothing reads the results above but the forward pass, so their memory is free when that is over.

#include <map>
#include <vector>

#include "core/graph/gradient.h"

namespace tpuest {

// An attribute of nodes that compute again: the name of the node whose results they have. What
// counts operations of the model passes them over.
inline constexpr std::string_view kRecomputed = "_recomputed";

class Recomputer {
 public:
  // `options` outlives it. Nodes that the graph has now are the forward pass.
  Recomputer(const Graph& graph, const Recompute& options);

  // Has the gradient of a node, whose dys (valid or not) are there, see what it reads of covered
  // nodes computed again.
  void Show(Node& node, const std::vector<Value>& dys, GradContext& context);

 private:
  [[nodiscard]] bool IsCovered(const Node& node) const;
  // Covered, and of no state: its inputs are all that it depends on.
  [[nodiscard]] bool IsAgain(const Node& node) const;
  // The value as a gradient sees it: of a covered node computed again, else itself.
  Value Seen(const Value& value);
  const std::vector<Value>& Again(Node& node);
  // A value that is kept, behind the dys.
  Value Kept(const Value& value);

  const Recompute& options_;
  int forward_nodes_;
  std::vector<Node*> after_;                         // the dys that ask now
  std::map<Value, Value> kept_;                      // of those dys
  std::map<const Node*, std::vector<Value>> again_;  // results
  std::map<const Node*, std::vector<Value>> again_inputs_;
};

}  // namespace tpuest
