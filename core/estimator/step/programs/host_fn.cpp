#include "core/estimator/step/programs/host_fn.h"

#include "core/estimator/checkpoint/variables.h"

namespace tpuest {
namespace {

Shape WithAnyRows(const Shape& shape) {
  Shape result = shape;
  if (result.rank() > 0) result.set_dim(0, kUnknownDim);
  return result;
}

}  // namespace

void HostVariables::Add(const Graph& graph) {
  VariableStore initial;
  InitializeVariables(backend_, graph, Which::kAll, 0, initial);
  for (const auto& [name, value] : initial.tensors()) {
    if (store_.Has(name)) continue;
    const bool is_models =
        model_ != nullptr && !graph.FindVariable(name)->local && model_->Has(name);
    store_.Set(name, is_models ? model_->tensors().at(name) : value);
    first_[name] = is_models ? Tensor() : value;
  }
}

void HostVariables::Reset() {
  for (const auto& [name, value] : first_) {
    store_.Set(name, value.valid() ? value : model_->tensors().at(name));
  }
}

void HostVariables::Clear() {
  first_.clear();
  store_ = {};
}

HostFnGraph::HostFnGraph(const HostFnArgs& args, VariableStore& variables,
                         const std::map<std::string, Value>& tensors)
    : graph(args.registry), programs(args.backend, graph, variables, args.threads) {
  const AfterScope after(graph);
  for (const auto& [name, value] : tensors) {
    placeholders[name] = graph.Placeholder(value.dtype(), WithAnyRows(value.shape()), "input");
  }
}

std::vector<std::pair<Value, Tensor>> HostFnGraph::Feeds(std::span<const Tensor> tensors) const {
  std::vector<std::pair<Value, Tensor>> feeds;
  for (const auto& [name, placeholder] : placeholders) {
    feeds.emplace_back(placeholder, tensors[feeds.size()]);
  }
  return feeds;
}

}  // namespace tpuest
