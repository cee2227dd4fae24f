#include "core/estimator/hook_graph.h"

#include <algorithm>

namespace tpuest {

Graph& HookGraph::graph() {
  if (graph_ != nullptr) return *graph_;
  graph_ = std::make_unique<Graph>(registry_);
  for (const auto& variable : model_.variables()) {
    if (variable->local) continue;
    graph_->AddVariable(variable->name, variable->dtype, variable->shape, {},
                        {.trainable = variable->trainable});
  }
  return *graph_;
}

std::vector<Tensor> HookGraph::Run(const std::vector<Value>& fetches) {
  if (fetches.empty()) return {};
  for (const Value& fetch : fetches) {
    if (&fetch.graph() == &graph()) continue;
    throw Error(Code::kUsage,
                fmt::format("Inside a hook: Op {} depends on TPU computation {}, which is not "
                            "allowed.",
                            fetch.node->name(), fetch.name()),
                "add the op to the graph that Begin is given; the model's variables are there")
        .At(fetch.node->origin());
  }
  auto found = std::find_if(compiled_.begin(), compiled_.end(),
                            [&](const Compiled& made) { return made.fetches == fetches; });
  if (found == compiled_.end()) {
    compiled_.push_back(
        {fetches, backend_.Compile({.graph = graph_.get(), .fetches = fetches}, {}, variables_)});
    found = compiled_.end() - 1;
  }
  const StepFeeds nothing;
  const StepResult result = found->program->Run({&nothing, 1}).front();
  std::vector<Tensor> values;
  for (const std::vector<Tensor>& fetched : result.fetches) values.push_back(fetched.front());
  return values;
}

}  // namespace tpuest
