#include "core/estimator/step/hook_graph.h"

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
  Compiled wanted{.fetches = fetches};
  StepFeeds feeds;
  for (const auto& [placeholder, value] : fed_) {
    wanted.fed.push_back(placeholder);
    wanted.shapes.push_back(value.shape());
    feeds.push_back({value});
  }
  const StepResult result = ProgramFor(std::move(wanted)).Run({&feeds, 1}).front();
  std::vector<Tensor> values;
  for (const std::vector<Tensor>& fetched : result.fetches) values.push_back(fetched.front());
  return values;
}

Program& HookGraph::ProgramFor(Compiled wanted) {
  for (const Compiled& made : compiled_) {
    if (made.fetches == wanted.fetches && made.fed == wanted.fed && made.shapes == wanted.shapes) {
      return *made.program;
    }
  }
  ProgramSpec spec{.graph = graph_.get(), .fetches = wanted.fetches};
  for (size_t i = 0; i < wanted.fed.size(); ++i) {
    spec.feeds.push_back({.placeholder = wanted.fed[i], .shape = wanted.shapes[i], .cut = false});
  }
  wanted.program = backend_.Compile(spec, {}, variables_);
  compiled_.push_back(std::move(wanted));
  return *compiled_.back().program;
}

void HookGraph::Feed(const std::vector<std::pair<Value, Tensor>>& feeds) {
  for (const auto& [placeholder, value] : feeds) fed_.insert_or_assign(placeholder, value);
}

}  // namespace tpuest
