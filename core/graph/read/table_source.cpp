#include "core/graph/read/table_source.h"

#include <map>

#include "core/graph/tensor_name.h"
#include "core/graph/write/tables.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

// TensorFlow 1 names what a loader runs once in one of the first two collections, and the tables'
// initializers themselves in the third; TensorFlow 2 names it in a signature.
constexpr std::string_view kInitOpCollections[] = {"saved_model_main_op", "legacy_init_op",
                                                   "table_initializer"};
constexpr const char* kInitOpSignature = "__saved_model_init_op";

bool IsTable(const pb::NodeDef& node) { return node.op() == "HashTableV2"; }

bool IsInitializer(const pb::NodeDef& node, const OpRegistry& registry) {
  const RegisteredOp* const op = registry.Find(node.op());
  return op != nullptr && InitializesTable(*op->def);
}

std::string SharedName(const pb::NodeDef& table) {
  const auto found = table.attr().find("shared_name");
  return found == table.attr().end() ? std::string() : found->second.s();
}

// Nodes of the graph that, once run, have initialized all tables.
std::vector<std::string> InitOps(const pb::MetaGraphDef& meta, const OpRegistry& registry) {
  std::set<std::string> ops;
  for (const std::string_view name : kInitOpCollections) {
    const auto found = meta.collection_def().find(std::string(name));
    if (found == meta.collection_def().end()) continue;
    const auto& nodes = found->second.node_list().value();
    ops.insert(nodes.begin(), nodes.end());
  }
  const auto signature = meta.signature_def().find(kInitOpSignature);
  if (signature != meta.signature_def().end()) {
    for (const auto& [key, tensor] : signature->second.outputs()) {
      ops.insert(std::string(ParseTensorName(tensor.name()).node));
    }
  }
  for (const pb::NodeDef& node : meta.graph_def().node()) {
    if (IsInitializer(node, registry)) ops.insert(node.name());
  }
  return {ops.begin(), ops.end()};
}

// The tables of a graph, by node and by shared_name: the initializer may be in another function,
// with its own handle of the same table.
class Tables {
 public:
  explicit Tables(const pb::GraphDef& graph) {
    for (const pb::NodeDef& node : graph.node()) {
      if (!IsTable(node)) continue;
      nodes_.insert(node.name());
      if (!SharedName(node).empty()) shared_names_.insert(SharedName(node));
    }
  }
  [[nodiscard]] bool empty() const { return nodes_.empty(); }
  [[nodiscard]] bool Has(const pb::NodeDef& table) const {
    return nodes_.contains(table.name()) || shared_names_.contains(SharedName(table));
  }

 private:
  std::set<std::string> nodes_;
  std::set<std::string> shared_names_;
};

using NodesByName = std::map<std::string, pb::NodeDef*, std::less<>>;

// A table's content never changes, so nothing has to run before it is read.
void DropControls(const NodesByName& nodes, pb::NodeDef& initializer) {
  std::vector<pb::NodeDef*> open = {&initializer};
  std::set<const pb::NodeDef*> seen;
  while (!open.empty()) {
    pb::NodeDef& node = *open.back();
    open.pop_back();
    if (!seen.insert(&node).second) continue;
    // Control inputs are the last.
    while (node.input_size() > 0 && node.input(node.input_size() - 1).starts_with('^')) {
      node.mutable_input()->RemoveLast();
    }
    for (const std::string& input : node.input()) {
      const auto found = nodes.find(ParseTensorName(input).node);
      if (found != nodes.end()) open.push_back(found->second);
    }
  }
}

void AddInitializers(const Tables& tables, const OpRegistry& registry, InlinedGraph& inlined) {
  NodesByName nodes;
  for (pb::NodeDef& node : *inlined.graph->mutable_node()) nodes[node.name()] = &node;
  for (pb::NodeDef& node : *inlined.graph->mutable_node()) {
    if (!IsInitializer(node, registry) || node.input_size() == 0) continue;
    const auto table = nodes.find(ParseTensorName(node.input(0)).node);
    if (table == nodes.end() || !tables.Has(*table->second)) continue;
    DropControls(nodes, node);
    inlined.wanted.push_back("^" + node.name());
  }
}

}  // namespace

// Flattens twice: which tables are looked up is known only after the first time, and the
// initializers' functions are flattened only if there are any.
InlinedGraph InlineWithTables(const pb::MetaGraphDef& meta, const OpRegistry& registry,
                              const InlineRequest& request) {
  InlinedGraph inlined = InlineFunctions(meta.graph_def(), registry, request);
  const Tables tables(*inlined.graph);
  if (tables.empty() || request.wanted.empty()) return inlined;
  InlineRequest with_init_ops = request;
  for (const std::string& op : InitOps(meta, registry)) with_init_ops.wanted.push_back("^" + op);
  inlined = InlineFunctions(meta.graph_def(), registry, with_init_ops);
  inlined.wanted.resize(request.wanted.size());
  AddInitializers(tables, registry, inlined);
  return inlined;
}

}  // namespace tpuest
