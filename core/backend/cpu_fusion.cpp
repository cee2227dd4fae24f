#include "core/backend/cpu_fusion.h"

namespace tpuest {

void FuseNodes(const Graph& from, const std::vector<Value>& /*keep*/, Graph& to,
               std::map<Value, Value>& mapped) {
  std::map<const Node*, Node*> nodes;
  for (const auto& node : from.nodes()) {
    std::vector<Value> inputs;
    for (const Value& input : node->inputs()) inputs.push_back(mapped.at(input));
    Node* const copy =
        to.AddNamedNode(node->type(), inputs, node->attrs(), node->name(), node->origin());
    for (Node* const control : node->control_inputs()) copy->AddControlInput(nodes.at(control));
    nodes[node.get()] = copy;
    for (int i = 0; i < node->outputs(); ++i) mapped[node->output(i)] = copy->output(i);
  }
}

}  // namespace tpuest
