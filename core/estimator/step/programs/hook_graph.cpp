#include "core/estimator/step/programs/hook_graph.h"

namespace tpuest {

Graph& HookGraph::graph() {
  if (graph_) return *graph_;
  graph_.emplace(registry_);
  for (const auto& variable : model_.variables()) {
    if (variable->local) continue;
    graph_->AddVariable(variable->name, variable->dtype, variable->shape, {},
                        {.trainable = variable->trainable});
  }
  programs_.emplace(backend_, *graph_, variables_);
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
                "add the op to the graph that Begin receives, which contains the model's variables")
        .At(fetch.node->origin());
  }
  return programs_->Run({.fetches = fetches, .feeds = {fed_.begin(), fed_.end()}});
}

void HookGraph::Feed(const std::vector<std::pair<Value, Tensor>>& feeds) {
  for (const auto& [placeholder, value] : feeds) fed_.insert_or_assign(placeholder, value);
}

}  // namespace tpuest
