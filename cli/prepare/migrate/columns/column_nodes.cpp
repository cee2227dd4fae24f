#include "cli/prepare/migrate/columns/column_nodes.h"

#include <algorithm>
#include <set>

#include "cli/prepare/migrate/graph/nodes.h"

namespace tpuest::cli {

const SeenNode* FindOp(const ColumnNodes& nodes, std::string_view op) {
  return FindNamed(nodes, "", op);
}

const SeenNode* FindNamed(const ColumnNodes& nodes, std::string_view ending, std::string_view op) {
  for (const SeenNode* const node : nodes) {
    if (node->op == op && node->name.ends_with(ending)) return node;
  }
  return nullptr;
}

ColumnGraph::ColumnGraph(const SeenGraph& graph) : graph_(graph) {
  for (const SeenNode& node : graph.nodes()) {
    const bool fills_table =
        node.op.starts_with("LookupTableImport") || node.op.starts_with("InitializeTable");
    if (fills_table && !node.inputs.empty()) fills_[node.inputs[0]] = &node;
  }
}

ColumnNodes ColumnGraph::OfLinear(const std::string& column) const {
  const std::string part = "/linear_model/" + column + "/";
  ColumnNodes nodes;
  for (const SeenNode& node : graph_.nodes()) {
    const auto has = [&](std::string_view what) {
      return node.name.find(what) != std::string::npos;
    };
    const bool is_forward = !has("gradients/") && !has("/Initializer/") && !has("/update_");
    if (is_forward && has(part) && node.name.starts_with("linear/")) nodes.push_back(&node);
  }
  return nodes;
}

std::map<std::string, ColumnNodes> ColumnGraph::DnnScopes() const {
  std::map<std::string, ColumnNodes> scopes;
  for (const SeenNode& node : graph_.nodes()) {
    if (!node.name.starts_with(kDnnInputLayer)) continue;
    const std::string rest = node.name.substr(kDnnInputLayer.size());
    const size_t slash = rest.find('/');
    if (slash == std::string::npos) continue;  // a node of the layer itself: concat
    const std::string scope = rest.substr(0, slash);
    if (scope.find("concat") == 0) continue;
    scopes[scope].push_back(&node);
  }
  // A scope that holds a variable alone is the other half of one with _1.
  std::erase_if(scopes, [&](const auto& entry) { return scopes.contains(entry.first + "_1"); });
  return scopes;
}

ColumnNodes ColumnGraph::WithSources(ColumnNodes nodes) const {
  std::set<const SeenNode*> seen(nodes.begin(), nodes.end());
  const auto add = [&](const SeenNode* node) {
    if (node != nullptr && seen.insert(node).second) nodes.push_back(node);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->op.starts_with("IteratorGetNext")) continue;
    for (const std::string& input : nodes[i]->inputs) {
      if (!input.starts_with('^')) add(graph_.Find(input));
    }
    if (const auto fill = fills_.find(nodes[i]->name); fill != fills_.end()) add(fill->second);
  }
  return nodes;
}

bool ColumnGraph::IsTrained(const std::string& variable) const {
  bool any = false;
  for (const SeenNode& node : graph_.nodes()) {
    const size_t at = node.name.find("/update_");
    if (at == std::string::npos) continue;
    any = true;
    if (node.name.compare(at + std::string_view("/update_").size(), variable.size(), variable) ==
        0) {
      return true;
    }
  }
  return !any;
}

int64_t ColumnGraph::SizeIn(const std::string& tensor) const {
  const SeenNode* const node = graph_.Find(tensor);
  if (node == nullptr) return 0;
  for (const char* const key : {"output_shapes", "_output_shapes"}) {
    const auto shapes = node->shapes.find(key);
    const size_t output = OutputOf(tensor);
    if (shapes == node->shapes.end() || output >= shapes->second.size()) continue;
    const Shape& shape = shapes->second[output];
    if (shape.known_rank() && shape.rank() == 2 && shape.dim(1) > 0) return shape.dim(1);
  }
  return 0;
}

int64_t ColumnGraph::ReadSize(const ColumnNodes& nodes) const {
  std::set<std::string> read;
  for (const SeenNode* const node : nodes) {
    for (const std::string& tensor : node->inputs) {
      const SeenNode* const input = graph_.Find(tensor);
      if (input != nullptr && input->op.starts_with("IteratorGetNext")) read.insert(tensor);
    }
  }
  return read.size() == 1 ? std::max<int64_t>(1, SizeIn(*read.begin())) : 1;
}

int64_t ColumnGraph::BucketizedSize(const SeenNode& node) const {
  for (const std::string& tensor : node.inputs) {
    if (const int64_t size = SizeIn(tensor); size > 0) return size;
  }
  return 1;
}

}  // namespace tpuest::cli
