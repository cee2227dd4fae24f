#include "core/graph/read/stored_nodes.h"

#include <unordered_map>

#include "core/graph/graph_file.h"
#include "core/graph/read/node_reader.h"
#include "core/io/protos.h"

namespace tpuest {

struct StoredNodes::State {
  pb::GraphDef graph;
  std::unordered_map<std::string, const pb::NodeDef*> by_name;
};

StoredNodes::StoredNodes(const std::string& path) : state_(std::make_unique<State>()) {
  ReadGraphFile(path, state_->graph);
  for (const pb::NodeDef& node : state_->graph.node()) state_->by_name[node.name()] = &node;
}

StoredNodes::~StoredNodes() = default;
StoredNodes::StoredNodes(StoredNodes&&) noexcept = default;
StoredNodes& StoredNodes::operator=(StoredNodes&&) noexcept = default;

Node* StoredNodes::AddTo(Graph& graph, const std::string& name,
                         const std::map<std::string, Value>& inputs) const {
  const auto found = state_->by_name.find(name);
  if (found == state_->by_name.end()) {
    throw Error(Code::kData, fmt::format("the graph has no node '{}'", name));
  }
  pb::GraphDef one;
  pb::NodeDef& node = *one.add_node();
  node = *found->second;
  node.clear_input();
  for (const std::string& input : found->second->input()) {
    if (!input.starts_with('^')) node.add_input(input);
  }
  const NodeReaderOptions options{.fed = inputs, .also = {}, .make = {}};
  NodeReader reader(one, graph, options);
  reader.Run();
  return reader.ValueOf(name).node;
}

}  // namespace tpuest
