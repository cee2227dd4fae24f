#include "core/graph/graph_nodes.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/graph/graph_file.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

// A constant of a dtype or form that is not known here is passed over.
std::optional<Tensor> ValueOf(const pb::AttrValue& attr, const std::string& name) {
  try {
    return FromProto(attr.tensor(), name);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Gathers what the migration asks for, by the kind of value that the file has: no op's definition
// is needed, and attributes of other kinds are passed over.
SeenNode NodeOf(const pb::NodeDef& proto) {
  SeenNode node{.name = proto.name(),
                .op = proto.op(),
                .inputs = {proto.input().begin(), proto.input().end()}};
  for (const auto& [key, attr] : proto.attr()) {
    if (attr.value_case() == pb::AttrValue::kI) node.ints[key] = attr.i();
    if (attr.value_case() == pb::AttrValue::kB) node.ints[key] = attr.b() ? 1 : 0;
    if (attr.value_case() == pb::AttrValue::kType) node.ints[key] = attr.type();
    if (attr.value_case() == pb::AttrValue::kS) node.strings[key] = attr.s();
    if (attr.value_case() == pb::AttrValue::kF) node.floats[key] = {attr.f()};
    if (attr.value_case() == pb::AttrValue::kFunc) node.functions[key] = attr.func().name();
    if (attr.value_case() == pb::AttrValue::kShape) node.shapes[key] = {FromProto(attr.shape())};
    if (attr.value_case() == pb::AttrValue::kList) {
      for (const auto& shape : attr.list().shape()) node.shapes[key].push_back(FromProto(shape));
    }
    if (attr.value_case() == pb::AttrValue::kList && attr.list().i_size() > 0) {
      node.int_lists[key] = {attr.list().i().begin(), attr.list().i().end()};
    }
    if (attr.value_case() == pb::AttrValue::kList && attr.list().type_size() > 0) {
      node.int_lists[key] = {attr.list().type().begin(), attr.list().type().end()};
    }
    if (attr.value_case() == pb::AttrValue::kList && attr.list().s_size() > 0) {
      node.string_lists[key] = {attr.list().s().begin(), attr.list().s().end()};
    }
    if (attr.value_case() == pb::AttrValue::kList && attr.list().f_size() > 0) {
      node.floats[key] = {attr.list().f().begin(), attr.list().f().end()};
    }
  }
  const auto value = proto.attr().find("value");
  if (proto.op() == "Const" && value != proto.attr().end()) {
    node.value = ValueOf(value->second, proto.name());
  }
  return node;
}

}  // namespace

SeenGraph::SeenGraph(const std::string& path) {
  pb::GraphDef graph;
  ReadGraphFile(path, graph);
  for (const pb::NodeDef& proto : graph.node()) Add(NodeOf(proto));
  for (const pb::FunctionDef& proto : graph.library().function()) {
    SeenFunction function{
        .name = proto.signature().name(), .arguments = {}, .results = {}, .body = {}};
    for (const auto& argument : proto.signature().input_arg()) {
      function.arguments.push_back(argument.name());
    }
    for (const pb::NodeDef& node : proto.node_def()) function.body.Add(NodeOf(node));
    for (const auto& result : proto.signature().output_arg()) {
      const auto tensor = proto.ret().find(result.name());
      if (tensor != proto.ret().end()) function.results.push_back(tensor->second);
    }
    functions_.push_back(std::move(function));
  }
}

void SeenGraph::Add(SeenNode node) {
  by_name_[node.name] = nodes_.size();
  nodes_.push_back(std::move(node));
}

const SeenFunction* SeenGraph::FindFunction(const std::string& name) const {
  const auto found =
      std::find_if(functions_.begin(), functions_.end(),
                   [&](const SeenFunction& function) { return function.name == name; });
  return found == functions_.end() ? nullptr : &*found;
}

const SeenNode* SeenGraph::Find(const std::string& tensor) const {
  const auto found = by_name_.find(tensor.substr(0, tensor.find(':')));
  return found == by_name_.end() ? nullptr : &nodes_[found->second];
}

std::vector<const SeenNode*> SeenGraph::Below(const std::string& scope,
                                              const std::string& op) const {
  const std::string beginning = scope.empty() ? "" : scope + "/";
  std::vector<const SeenNode*> found;
  for (const SeenNode& node : nodes_) {
    if (node.op == op && node.name.starts_with(beginning)) found.push_back(&node);
  }
  return found;
}

std::optional<Tensor> SeenGraph::ConstantAt(const SeenNode& node, size_t input) const {
  constexpr int kMostIdentities = 16;  // a damaged graph may go in circles
  const SeenNode* at = input < node.inputs.size() ? Find(node.inputs[input]) : nullptr;
  for (int i = 0; i < kMostIdentities && at != nullptr; ++i) {
    if (at->op == "Const") return at->value;
    if (at->op != "Identity" || at->inputs.empty()) return std::nullopt;
    at = Find(at->inputs[0]);
  }
  return std::nullopt;
}

}  // namespace tpuest
