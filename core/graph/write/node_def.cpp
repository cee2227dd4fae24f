#include "core/graph/write/node_def.h"

#include "core/graph/draw_of_seed.h"
#include "core/graph/write/map_function.h"
#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

constexpr int kProducerVersion = 1395;  // of TensorFlow 2.12's graphs; readers only compare it

// The kind of the value decides the field of the AttrValue.
struct AttrWriter {
  pb::AttrValue& out;

  void operator()(int64_t value) const { out.set_i(value); }
  void operator()(float value) const { out.set_f(value); }
  void operator()(bool value) const { out.set_b(value); }
  void operator()(const std::string& value) const { out.set_s(value); }
  void operator()(DType value) const { out.set_type(TypeOf(value)); }
  void operator()(const Shape& value) const { ToProto(value, *out.mutable_shape()); }
  void operator()(const Tensor& value) const { ToProto(value, *out.mutable_tensor()); }
  void operator()(const FunctionRef& value) const { out.mutable_func()->set_name(value.name); }
  template <class T>
  void operator()(const std::vector<T>& values) const {
    pb::AttrValue::ListValue& list = *out.mutable_list();
    for (const auto& value : values) {
      if constexpr (std::is_same_v<T, int64_t>) list.add_i(value);
      if constexpr (std::is_same_v<T, float>) list.add_f(value);
      if constexpr (std::is_same_v<T, bool>) list.add_b(value);
      if constexpr (std::is_same_v<T, std::string>) list.add_s(value);
      if constexpr (std::is_same_v<T, DType>) list.add_type(TypeOf(value));
      if constexpr (std::is_same_v<T, Shape>) ToProto(value, *list.add_shape());
    }
  }
};

}  // namespace

void WriteAttr(const AttrValue& value, pb::AttrValue& out) { std::visit(AttrWriter{out}, value); }

// TensorFlow requires control inputs after all data inputs.
void WriteNode(const Node& node, pb::NodeDef& out) {
  out.set_name(node.name());
  out.set_op(std::string(node.type()));
  for (const Value& input : node.inputs()) out.add_input(input.name());
  for (const Node* const control : node.control_inputs()) out.add_input("^" + control->name());
  for (const auto& [name, value] : node.attrs()) {
    if (name == kOwnRows || name == kRowsOf || name == kDrawOfSeed) continue;
    WriteAttr(value, (*out.mutable_attr())[name]);
  }
}

void WriteNode(const NodeText& node, pb::NodeDef& out) {
  out.set_name(node.name);
  out.set_op(std::string(node.op));
  out.set_device(std::string(node.device));
  for (const std::string& input : node.inputs) out.add_input(input);
  for (const auto& [name, value] : node.attrs) WriteAttr(value, (*out.mutable_attr())[name]);
}

// tf.Estimator's strip_default_attrs: a reader whose op has no such attribute yet still loads the
// graph.
void StripDefaultAttrs(const Node& node, pb::NodeDef& out) {
  for (const AttrDef& attr : node.signature().attrs) {
    const auto found = node.attrs().find(attr.name);
    if (!attr.default_value || found == node.attrs().end()) continue;
    if (SameAttr(found->second, *attr.default_value)) out.mutable_attr()->erase(attr.name);
  }
}

NodeNames::NodeNames(const Graph& graph) {
  for (const auto& node : graph.nodes()) taken_.insert(node->name());
}

// The names that TensorFlow's import gives: the first free number from 1 on.
std::string NodeNames::Unique(const std::string& name) {
  std::string unique = name;
  for (int i = 1; !taken_.insert(unique).second; ++i) unique = fmt::format("{}_{}", name, i);
  return unique;
}

void WriteOutputShapes(const Node& node, pb::NodeDef& out) {
  pb::AttrValue::ListValue& list = *(*out.mutable_attr())["_output_shapes"].mutable_list();
  for (int i = 0; i < node.outputs(); ++i) ToProto(node.output_shape(i), *list.add_shape());
}

void WriteGraphVersions(pb::GraphDef& out) {
  out.mutable_versions()->set_producer(kProducerVersion);
}

void WriteGraph(const Graph& graph, bool add_shapes, pb::GraphDef& out) {
  for (const auto& node : graph.nodes()) {
    pb::NodeDef& written = *out.add_node();
    WriteNode(*node, written);
    WriteMapFunction(*node, out);
    if (add_shapes) WriteOutputShapes(*node, written);
  }
  WriteGraphVersions(out);
}

}  // namespace tpuest
