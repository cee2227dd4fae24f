#include "core/estimator/step/outfed_graph.h"

namespace tpuest {
namespace {

Shape AnyRows(const Shape& shape) {
  Shape result = shape;
  if (result.rank() > 0) result.set_dim(0, kUnknownDim);
  return result;
}

}  // namespace

OutfedGraph MakeOutfedGraph(const OpRegistry& registry,
                            const std::map<std::string, Value>& tensors) {
  OutfedGraph made{.graph = std::make_unique<Graph>(registry)};
  const AfterScope after(*made.graph);
  for (const auto& [name, value] : tensors) {
    made.inputs.push_back(made.graph->Placeholder(value.dtype(), AnyRows(value.shape()), "input"));
    made.placeholders[name] = made.inputs.back();
  }
  return made;
}

std::vector<std::string> NamesOf(const std::map<std::string, Value>& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, value] : tensors) names.push_back(name);
  return names;
}

std::vector<int64_t> RowsOf(std::span<const Tensor> tensors) {
  std::vector<int64_t> rows;
  for (const Tensor& tensor : tensors) {
    rows.push_back(tensor.shape().rank() > 0 ? tensor.shape().dim(0) : 0);
  }
  return rows;
}

std::vector<FeedSpec> FeedSpecsOf(const OutfedGraph& graph, std::span<const Tensor> tensors,
                                  bool cut) {
  std::vector<FeedSpec> feeds;
  for (const Tensor& tensor : tensors) {
    feeds.push_back({.placeholder = graph.inputs[feeds.size()],
                     .shape = tensor.shape(),
                     .cut = cut && tensor.shape().rank() > 0});
  }
  return feeds;
}

StepFeeds FeedsOf(std::span<const Tensor> tensors) {
  StepFeeds feeds;
  for (const Tensor& tensor : tensors) feeds.push_back({tensor});
  return feeds;
}

}  // namespace tpuest
