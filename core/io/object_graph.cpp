#include "core/io/object_graph.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

// The attribute under which a variable saves its value; other objects use other attributes.
constexpr std::string_view kVariableValue = "VARIABLE_VALUE";

// Converts the message to the struct and checks every node number.
class Reader {
 public:
  Reader(const pb::TrackableObjectGraph& message, std::string what)
      : message_(message), what_(std::move(what)) {}

  ObjectGraph Read() {
    if (message_.nodes().empty()) throw Error(Code::kCheckpoint, what_ + " has no objects");
    ObjectGraph graph;
    for (const auto& object : message_.nodes()) graph.nodes.push_back(ReadNode(object));
    return graph;
  }

 private:
  ObjectGraph::Node ReadNode(const pb::TrackableObjectGraph::TrackableObject& object) {
    ObjectGraph::Node node;
    for (const auto& child : object.children()) {
      node.children.push_back({child.local_name(), Checked(child.node_id())});
    }
    for (const auto& attribute : object.attributes()) {
      if (attribute.name() != kVariableValue) continue;
      node.full_name = attribute.full_name();
      node.key = attribute.checkpoint_key();
    }
    for (const auto& slot : object.slot_variables()) {
      node.slots.push_back({Checked(slot.original_variable_node_id()), slot.slot_name(),
                            Checked(slot.slot_variable_node_id())});
    }
    return node;
  }

  int Checked(int node) {
    if (node >= 0 && node < message_.nodes_size()) return node;
    throw Error(Code::kCheckpoint, fmt::format("{} is damaged: it refers to object {} of {}", what_,
                                               node, message_.nodes_size()));
  }

  const pb::TrackableObjectGraph& message_;
  std::string what_;
};

std::string Escaped(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (c == '.') {
      escaped += "..";
    } else if (c == '/') {
      escaped += ".S";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string EscapedPath(const std::vector<std::string>& names) {
  std::vector<std::string> escaped;
  for (const std::string& name : names) escaped.push_back(Escaped(name));
  return Join(escaped, "/");
}

std::string WithAttribute(std::string_view path) {
  return fmt::format("{}/.ATTRIBUTES/{}", path, kVariableValue);
}

}  // namespace

std::optional<int> ObjectGraph::Node::Find(std::string_view name) const {
  const auto found = std::find_if(children.begin(), children.end(),
                                  [&](const Child& child) { return child.name == name; });
  if (found == children.end()) return std::nullopt;
  return found->node;
}

std::optional<int> ObjectGraph::Walk(int from, std::string_view path) const {
  std::optional<int> node = from;
  while (node && !path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    node = at(*node).Find(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return node;
}

std::optional<ObjectGraph> ReadObjectGraph(const BundleReader& bundle) {
  if (!bundle.Has(kObjectGraphKey)) return std::nullopt;
  const Tensor tensor = bundle.Read(kObjectGraphKey);
  const std::string what = fmt::format("{}: \"{}\"", bundle.prefix(), kObjectGraphKey);
  if (tensor.dtype() != DType::kString || tensor.elements() != 1) {
    throw Error(Code::kCheckpoint, fmt::format("{} is {} {}, a string scalar expected", what,
                                               NameOf(tensor.dtype()), tensor.shape().Text()));
  }
  pb::TrackableObjectGraph message;
  FromBytes(tensor.strings()[0], message, what, Code::kCheckpoint);
  return Reader(message, what).Read();
}

Tensor ObjectGraphTensor(const ObjectGraph& graph) {
  pb::TrackableObjectGraph message;
  for (const ObjectGraph::Node& node : graph.nodes) {
    auto& object = *message.add_nodes();
    for (const ObjectGraph::Child& child : node.children) {
      auto& reference = *object.add_children();
      reference.set_node_id(child.node);
      reference.set_local_name(child.name);
    }
    if (!node.key.empty()) {
      auto& attribute = *object.add_attributes();
      attribute.set_name(std::string(kVariableValue));
      attribute.set_full_name(node.full_name);
      attribute.set_checkpoint_key(node.key);
    }
    for (const ObjectGraph::Slot& slot : node.slots) {
      auto& reference = *object.add_slot_variables();
      reference.set_original_variable_node_id(slot.variable);
      reference.set_slot_name(slot.name);
      reference.set_slot_variable_node_id(slot.node);
    }
  }
  return Tensor::Strings(Shape(), {ToBytes(message)});
}

std::string VariableKey(const std::vector<std::string>& names) {
  return WithAttribute(EscapedPath(names));
}

std::string SlotKey(const std::vector<std::string>& variable,
                    const std::vector<std::string>& optimizer, std::string_view slot) {
  return WithAttribute(fmt::format("{}/.OPTIMIZER_SLOT/{}/{}", EscapedPath(variable),
                                   EscapedPath(optimizer), Escaped(slot)));
}

}  // namespace tpuest
