#include "core/graph/graphdef.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "core/io/proto.h"
#include "core/io/protos.h"

namespace tpuest {
namespace {

constexpr int kProducerVersion = 1395;  // of TensorFlow 2.12's graphs; readers only compare it

pb::DataType TypeOf(DType dtype) { return static_cast<pb::DataType>(dtype); }

template <class T>
struct AlwaysFalse : std::false_type {};

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

void WriteNode(const Node& node, bool add_shapes, pb::NodeDef& out) {
  out.set_name(node.name());
  out.set_op(std::string(node.type()));
  for (const Value& input : node.inputs()) out.add_input(input.name());
  for (const Node* const control : node.control_inputs()) out.add_input("^" + control->name());
  for (const auto& [name, value] : node.attrs()) {
    std::visit(AttrWriter{(*out.mutable_attr())[name]}, value);
  }
  if (!add_shapes) return;
  pb::AttrValue::ListValue& list = *(*out.mutable_attr())["_output_shapes"].mutable_list();
  for (int i = 0; i < node.outputs(); ++i) ToProto(node.output_shape(i), *list.add_shape());
}

void WriteGraph(const Graph& graph, bool add_shapes, pb::GraphDef& out) {
  for (const auto& node : graph.nodes()) WriteNode(*node, add_shapes, *out.add_node());
  out.mutable_versions()->set_producer(kProducerVersion);
}

// TensorFlow finds a variable by its initializer and its snapshot; the initializer is a node that
// tpuest itself has no use for.
pb::VariableDef WriteVariable(const Variable& variable, pb::GraphDef& graph) {
  pb::VariableDef out;
  out.set_variable_name(variable.name + ":0");
  out.set_initializer_name(variable.name + "/Assign");
  out.set_snapshot_name(variable.value.name() + ":0");
  out.set_is_resource(true);
  out.set_trainable(variable.trainable);
  pb::NodeDef& assign = *graph.add_node();
  assign.set_name(out.initializer_name());
  assign.set_op("AssignVariableOp");
  assign.add_input(variable.handle.name());
  assign.add_input(variable.initial_value.name());
  (*assign.mutable_attr())["dtype"].set_type(TypeOf(variable.dtype));
  (*assign.mutable_attr())["validate_shape"].set_b(false);
  out.set_initial_value_name(variable.initial_value.name() +
                             (variable.initial_value.index == 0 ? ":0" : ""));
  return out;
}

template <class T, class List>
std::vector<T> ReadList(const List& list) {
  return {list.begin(), list.end()};
}

// An attribute by the type that the op's signature gives it; "_..." attributes by what they hold.
class AttrReader {
 public:
  AttrReader(const pb::NodeDef& node, std::string name, const pb::AttrValue& value)
      : node_(node), name_(std::move(name)), value_(value) {}

  [[nodiscard]] AttrValue Read(const std::string& type) const {
    if (type.starts_with("list(")) return ReadListOf(type);
    switch (value_.value_case()) {
      case pb::AttrValue::kI:
        return AttrValue(static_cast<int64_t>(value_.i()));
      case pb::AttrValue::kF:
        return AttrValue(value_.f());
      case pb::AttrValue::kB:
        return AttrValue(value_.b());
      case pb::AttrValue::kS:
        return AttrValue(value_.s());
      case pb::AttrValue::kType:
        return AttrValue(static_cast<DType>(value_.type()));
      case pb::AttrValue::kShape:
        return AttrValue(FromProto(value_.shape()));
      case pb::AttrValue::kTensor:
        return AttrValue(FromProto(value_.tensor(), node_.name()));
      case pb::AttrValue::kFunc:
        return AttrValue(FunctionRef{value_.func().name()});
      default:
        throw Error(Code::kData, fmt::format("{} '{}': attribute {} has no value that is read here",
                                             node_.op(), node_.name(), name_));
    }
  }

 private:
  [[nodiscard]] AttrValue ReadListOf(const std::string& type) const {
    const pb::AttrValue::ListValue& list = value_.list();
    if (type == "list(int)") return AttrValue(ReadList<int64_t>(list.i()));
    if (type == "list(float)") return AttrValue(ReadList<float>(list.f()));
    if (type == "list(bool)") return AttrValue(ReadList<bool>(list.b()));
    if (type == "list(string)") return AttrValue(ReadList<std::string>(list.s()));
    if (type == "list(type)") {
      std::vector<DType> types;
      for (const int dtype : list.type()) types.push_back(static_cast<DType>(dtype));
      return types;
    }
    std::vector<Shape> shapes;
    for (const pb::TensorShapeProto& shape : list.shape()) shapes.push_back(FromProto(shape));
    return shapes;
  }

  const pb::NodeDef& node_;
  std::string name_;
  const pb::AttrValue& value_;
};

class GraphReader {
 public:
  GraphReader(const pb::GraphDef& def, Graph& graph) : def_(def), graph_(graph) {}

  void Run() {
    for (const pb::NodeDef& node : def_.node()) {
      if (!by_name_.emplace(node.name(), &node).second) {
        throw Error(Code::kData, fmt::format("two nodes are called '{}'", node.name()));
      }
    }
    for (const pb::NodeDef& node : def_.node()) Add(node);
  }

 private:
  // Adds the node after all its inputs; an explicit stack, since graphs are deep.
  void Add(const pb::NodeDef& wanted) {
    std::vector<const pb::NodeDef*> stack = {&wanted};
    while (!stack.empty()) {
      const pb::NodeDef& node = *stack.back();
      const pb::NodeDef* const missing = FirstMissingInput(node);
      if (missing == nullptr) {
        AddReady(node);
        open_.erase(&node);
        stack.pop_back();
        continue;
      }
      open_[&node] = true;
      if (open_.contains(missing)) {
        throw Error(Code::kData, fmt::format("'{}' depends on itself", missing->name()));
      }
      stack.push_back(missing);
    }
  }

  const pb::NodeDef* FirstMissingInput(const pb::NodeDef& node) {
    for (const std::string& input : node.input()) {
      const std::string name = NodeName(input);
      if (graph_.FindNode(name) != nullptr) continue;
      const auto found = by_name_.find(name);
      if (found == by_name_.end()) {
        throw Error(Code::kData, fmt::format("{} '{}' reads '{}', which is no node of the graph",
                                             node.op(), node.name(), input));
      }
      return found->second;
    }
    return nullptr;
  }

  static std::string NodeName(const std::string& input) {
    const size_t begin = input.starts_with('^') ? 1 : 0;
    return input.substr(begin, input.find(':') - begin);
  }

  void AddReady(const pb::NodeDef& node) {
    if (graph_.FindNode(node.name()) != nullptr) return;
    const RegisteredOp* const op = graph_.registry().Find(node.op());
    if (op == nullptr) {
      throw Error(Code::kData,
                  fmt::format("node '{}': there is no op {} here", node.name(), node.op()));
    }
    std::vector<Value> inputs;
    std::vector<Node*> controls;
    for (const std::string& input : node.input()) {
      Node* const source = graph_.FindNode(NodeName(input));
      if (input.starts_with('^')) {
        controls.push_back(source);
      } else {
        inputs.push_back({source, OutputIndex(node, input, *source)});
      }
    }
    Attrs attrs;
    for (const auto& [name, value] : node.attr()) {
      const AttrDef* const def = op->signature.FindAttr(name);
      if (def == nullptr) continue;  // "_class", "_output_shapes": notes of other programs
      attrs[name] = AttrReader(node, name, value).Read(def->type);
    }
    Node* const added = graph_.AddNamedNode(node.op(), inputs, attrs, node.name(), {});
    for (Node* const control : controls) added->AddControlInput(control);
  }

  static int OutputIndex(const pb::NodeDef& node, const std::string& input, const Node& source) {
    int index = 0;
    if (const size_t colon = input.find(':'); colon != std::string::npos) {
      std::from_chars(input.data() + colon + 1, input.data() + input.size(), index);
    }
    if (index < 0 || index >= source.outputs()) {
      throw Error(Code::kData,
                  fmt::format("{} '{}' reads '{}', but {} '{}' has {} outputs", node.op(),
                              node.name(), input, source.type(), source.name(), source.outputs()));
    }
    return index;
  }

  const pb::GraphDef& def_;
  Graph& graph_;
  std::map<std::string, const pb::NodeDef*> by_name_;
  std::map<const pb::NodeDef*, bool> open_;
};

}  // namespace

std::string ToGraphDef(const Graph& graph, const GraphDefOptions& options) {
  pb::GraphDef def;
  WriteGraph(graph, options.add_shapes, def);
  return ToBytes(def);
}

std::string ToGraphDefText(const Graph& graph) {
  pb::GraphDef def;
  WriteGraph(graph, /*add_shapes=*/false, def);
  return ToText(def);
}

std::string ToMetaGraphDef(const Graph& graph) {
  pb::MetaGraphDef meta;
  WriteGraph(graph, /*add_shapes=*/true, *meta.mutable_graph_def());
  auto& collections = *meta.mutable_collection_def();
  for (const auto& variable : graph.variables()) {
    const std::string bytes = ToBytes(WriteVariable(*variable, *meta.mutable_graph_def()));
    if (variable->local) {
      collections["local_variables"].mutable_bytes_list()->add_value(bytes);
      continue;
    }
    collections["variables"].mutable_bytes_list()->add_value(bytes);
    if (variable->trainable) {
      collections["trainable_variables"].mutable_bytes_list()->add_value(bytes);
    }
    if (variable->name == "global_step") {
      collections["global_step"].mutable_bytes_list()->add_value(bytes);
    }
  }
  return ToBytes(meta);
}

void FromGraphDef(std::string_view serialized, Graph& graph) {
  pb::GraphDef def;
  FromBytes(serialized, def, "GraphDef", Code::kData);
  GraphReader(def, graph).Run();
}

}  // namespace tpuest
