#include "core/estimator/step/weight_summaries.h"

#include <algorithm>

namespace tpuest {
namespace {

// Marks, by node id, the nodes that depend on the inputs, in one walk for all summaries. A control
// input that was added later may have a higher id, so the walk repeats until it marks no new node.
std::vector<char> FollowsFrom(const Graph& graph, const std::vector<Value>& inputs) {
  std::vector<char> follows(graph.nodes().size(), 0);
  const auto mark = [&](const Node* node) { return follows[static_cast<size_t>(node->id())] != 0; };
  for (const Value& input : inputs) follows[static_cast<size_t>(input.node->id())] = 1;
  for (bool grew = true; grew;) {
    grew = false;
    for (const auto& node : graph.nodes()) {
      if (mark(node.get())) continue;
      const bool reads = std::any_of(node->inputs().begin(), node->inputs().end(),
                                     [&](const Value& input) { return mark(input.node); });
      const auto& waits = node->control_inputs();
      if (!reads && !std::any_of(waits.begin(), waits.end(), mark)) continue;
      follows[static_cast<size_t>(node->id())] = 1;
      grew = true;
    }
  }
  return follows;
}

}  // namespace

WeightSummaries::WeightSummaries(Backend& backend, VariableStore& variables,
                                 const BuiltModel& model)
    : graph_(backend, *model.graph, variables) {
  if (model.spec.summaries.empty()) return;
  const std::vector<char> follows = FollowsFrom(*model.graph, model.inputs);
  for (const auto& [tag, value] : model.spec.summaries) {
    const bool reads_batch = follows[static_cast<size_t>(value.node->id())] != 0;
    among_.push_back(!reads_batch);
    if (!reads_batch) work_.fetches.push_back(value);
  }
}

std::vector<float> WeightSummaries::Compute() {
  if (empty()) return {};
  std::vector<float> values;
  for (const Tensor& value : graph_.Run(work_)) {
    values.push_back(static_cast<float>(value.AsDouble(0)));
  }
  return values;
}

}  // namespace tpuest
