#include "core/graph/graph.h"

#include <utility>

#include "core/base/text.h"
#include "core/tensor/limits.h"

namespace tpuest {
namespace {

[[noreturn]] void ThrowAt(const Node& node, const std::string& message) {
  throw Error(Code::kUsage, fmt::format("{} '{}': {}", node.type(), node.name(), message))
      .At(node.origin());
}

}  // namespace

const Shape& Value::shape() const { return node->output_shape(index); }
DType Value::dtype() const { return node->output_dtype(index); }
Graph& Value::graph() const { return node->graph(); }
std::string Value::name() const {
  return index == 0 ? node->name() : fmt::format("{}:{}", node->name(), index);
}

OpRegistry::OpRegistry(const std::vector<OpFamily>& families) {
  for (const OpFamily& family : families) {
    for (const OpDef& def : family) {
      const auto [where, inserted] = ops_.emplace(
          std::string(def.name), RegisteredOp{&def, ParseSignature(def.name, def.signature)});
      Check(inserted, "op {} is declared twice", def.name);
    }
  }
}

const RegisteredOp* OpRegistry::Find(std::string_view name) const {
  const auto found = ops_.find(name);
  return found == ops_.end() ? nullptr : &found->second;
}

bool Node::HasAttr(std::string_view name) const { return attrs_.contains(std::string(name)); }

// A missing attribute is our own bug: Insert has filled in all that the signature names.
const AttrValue& Node::AttrOf(std::string_view name) const {
  const auto found = attrs_.find(std::string(name));
  Check(found != attrs_.end(), "{} '{}' has no attribute {}", type(), name_, name);
  return found->second;
}

namespace {

// A graph that was read may ask for any number; a node's outputs are allocated before anything else
// refuses it.
constexpr int64_t kMaxOutputs = 1 << 20;

// Works out the dtypes of a node's arguments from its inputs and attributes. An attribute that is
// not given follows from the first input that has it ("T" from x); every further input with it has
// to agree. So BindInputs comes first, then defaults for what no input says, then the outputs.
class Typing {
 public:
  Typing(const Node& node, Attrs& attrs) : node_(node), attrs_(attrs) {}

  // Attributes that are given lie in their domains: how many inputs there are follows from some.
  void CheckGiven() const {
    for (const AttrDef& def : node_.signature().attrs) {
      if (attrs_.contains(def.name)) CheckDomain(def);
    }
  }

  void BindInputs() {
    size_t next = 0;
    for (const ArgDef& arg : node_.signature().inputs) next = BindInput(arg, next);
    if (next != node_.inputs().size()) {
      ThrowAt(node_, fmt::format("takes {} inputs, got {}", next, node_.inputs().size()));
    }
  }

  void ApplyDefaults() {
    for (const AttrDef& def : node_.signature().attrs) {
      if (!attrs_.contains(def.name)) {
        if (!def.default_value) ThrowAt(node_, fmt::format("attribute {} is missing", def.name));
        attrs_[def.name] = *def.default_value;
      }
      CheckDomain(def);
    }
  }

  [[nodiscard]] std::vector<DType> OutputTypes() const {
    std::vector<DType> types;
    for (const ArgDef& arg : node_.signature().outputs) {
      if (!arg.type_list_attr.empty()) {
        const auto& list = std::get<std::vector<DType>>(attrs_.at(arg.type_list_attr));
        types.insert(types.end(), list.begin(), list.end());
        continue;
      }
      const int64_t count =
          arg.number_attr.empty() ? 1 : std::get<int64_t>(attrs_.at(arg.number_attr));
      if (count < 0 || count > kMaxOutputs) {
        ThrowAt(node_, fmt::format("{} is {}", arg.number_attr, count));
      }
      const DType type =
          arg.type_attr.empty() ? arg.dtype : std::get<DType>(attrs_.at(arg.type_attr));
      types.insert(types.end(), static_cast<size_t>(count), type);
    }
    return types;
  }

 private:
  // Binds the argument to the inputs from `next` on and returns the first input after it. Inputs
  // are in the order of the signature, so one pass is enough.
  size_t BindInput(const ArgDef& arg, size_t next) {
    if (!arg.type_list_attr.empty()) return BindTypeList(arg, next);
    size_t count = 1;
    if (!arg.number_attr.empty()) {
      if (!attrs_.contains(arg.number_attr)) {
        // The only list takes what the fixed arguments leave.
        attrs_[arg.number_attr] =
            static_cast<int64_t>(node_.inputs().size() + 1 - node_.signature().inputs.size());
      }
      count = static_cast<size_t>(std::get<int64_t>(attrs_[arg.number_attr]));
    }
    for (size_t i = 0; i < count; ++i, ++next) BindOne(arg, next);
    return next;
  }

  // A list that is not given takes all inputs that are left: it is the last argument of every op
  // that has one.
  size_t BindTypeList(const ArgDef& arg, size_t next) {
    if (!attrs_.contains(arg.type_list_attr)) {
      std::vector<DType> types;
      for (size_t i = next; i < node_.inputs().size(); ++i) {
        types.push_back(node_.inputs()[i].dtype());
      }
      attrs_[arg.type_list_attr] = types;
    }
    for (const DType expected : std::get<std::vector<DType>>(attrs_[arg.type_list_attr])) {
      CheckInput(arg, next++, expected);
    }
    return next;
  }

  [[nodiscard]] DType InputDType(const ArgDef& arg, size_t at) const {
    if (at >= node_.inputs().size()) {
      ThrowAt(node_, fmt::format("input {} '{}' is missing", at, arg.name));
    }
    return node_.inputs()[at].dtype();
  }

  void CheckInput(const ArgDef& arg, size_t at, DType expected) const {
    const DType found = InputDType(arg, at);
    if (expected == found) return;
    ThrowAt(node_, fmt::format("input {} '{}' is {} ('{}'), expected {}", at, arg.name,
                               NameOf(found), node_.inputs()[at].name(), NameOf(expected)));
  }

  void BindOne(const ArgDef& arg, size_t at) {
    const DType found = InputDType(arg, at);
    DType expected = arg.dtype;
    if (!arg.type_attr.empty()) {
      // emplace leaves an attribute that is there already: the first input, or the caller, has
      // decided.
      const auto [where, inserted] = attrs_.emplace(arg.type_attr, found);
      expected = std::get<DType>(where->second);
    }
    CheckInput(arg, at, expected);
  }

  void CheckDomain(const AttrDef& def) const {
    if (const std::string fault = def.FaultOf(attrs_.at(def.name)); !fault.empty()) {
      ThrowAt(node_, fault);
    }
  }

  const Node& node_;
  Attrs& attrs_;
};

}  // namespace

// Dtypes and shapes are worked out before the node joins nodes_, so an Error leaves the nodes as
// they were. An op without a shape rule has outputs of unknown rank.
Node* Graph::Insert(std::unique_ptr<Node> node) {
  Node& n = *node;
  n.graph_ = this;
  n.id_ = static_cast<int>(nodes_.size());
  for (const Value& input : n.inputs_) {
    Check(input.valid() && &input.graph() == this, "{} '{}': an input belongs to another graph",
          n.type(), n.name_);
  }
  Typing typing(n, n.attrs_);
  typing.CheckGiven();
  typing.BindInputs();
  typing.ApplyDefaults();
  n.output_dtypes_ = typing.OutputTypes();
  n.output_shapes_.assign(n.output_dtypes_.size(), Shape::UnknownRank());
  if (n.op().shape != nullptr) {
    ShapeContext context(n, n.output_shapes_);
    n.op().shape(context);
  }
  for (const Shape& shape : n.output_shapes_) {
    if (IsCountable(shape)) continue;
    ThrowAt(n, fmt::format("no tensor can have the shape [{}]", fmt::join(shape.dims(), ",")));
  }
  if (n.type() == "Identity") n.identical_ = BehindIdentities(n.input(0));
  by_name_[n.name_] = &n;
  nodes_.push_back(std::move(node));
  return &n;
}

Node* Graph::AddNode(std::string_view op, std::vector<Value> inputs, Attrs attrs,
                     std::string_view name) {
  // TensorFlow takes no node's name that begins so, as those of our own ops do.
  if (name.empty()) name = op.starts_with('_') ? op.substr(1) : op;
  return AddNamedNode(op, std::move(inputs), std::move(attrs), UniqueName(name), origin_);
}

Node* Graph::AddNamedNode(std::string_view op, std::vector<Value> inputs, Attrs attrs,
                          std::string name, Origin origin) {
  auto node = std::make_unique<Node>();
  node->op_ = registry_->Find(op);
  node->name_ = std::move(name);
  node->origin_ = std::move(origin);
  if (node->op_ == nullptr) {
    throw Error(Code::kUsage, fmt::format("node '{}': unknown op {}", node->name_, op))
        .At(node->origin_);
  }
  node->inputs_ = std::move(inputs);
  node->attrs_ = std::move(attrs);
  node->after_ = after_;
  // The name is taken from now on, also for nodes whose names are made unique.
  name_counts_.try_emplace(node->name_, 1);
  return Insert(std::move(node));
}

Value Graph::Constant(const Tensor& value, std::string_view name) {
  return Add("Const", {}, {{"value", value}, {"dtype", value.dtype()}}, name);
}

Value Graph::NamedConstant(const Tensor& value, std::string name, Origin origin) {
  return AddNamedNode("Const", {}, {{"value", value}, {"dtype", value.dtype()}}, std::move(name),
                      std::move(origin))
      ->output(0);
}

Value Graph::ScalarOf(DType dtype, double value, std::string_view name) {
  return Constant(Tensor::Scalar<double>(value).Cast(dtype), name);
}

Value Graph::Placeholder(DType dtype, const Shape& shape, std::string_view name) {
  return Add("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, name);
}

Value Graph::NamedPlaceholder(DType dtype, const Shape& shape, std::string name, Origin origin) {
  return AddNamedNode("Placeholder", {}, {{"dtype", dtype}, {"shape", shape}}, std::move(name),
                      std::move(origin))
      ->output(0);
}

// The nodes are outside any scope: the handle has the variable's name in checkpoints.
Variable* Graph::AddVariable(const std::string& name, DType dtype, const Shape& shape,
                             Value initial_value, const VariableOptions& options) {
  if (FindVariable(name) != nullptr) {
    throw Error(Code::kUsage, fmt::format("variable '{}' exists already", name),
                "give one of the two layers another name")
        .At(origin_);
  }
  const std::string scope = std::exchange(scope_, "");
  Node* const handle =
      AddNode("VarHandleOp", {}, {{"dtype", dtype}, {"shape", shape}, {"shared_name", name}}, name);
  const Value value =
      Add("ReadVariableOp", {handle->output(0)}, {{"dtype", dtype}}, name + "/Read/ReadVariableOp");
  scope_ = scope;
  return AdoptVariable(*handle, value, initial_value, options);
}

Variable* Graph::AdoptVariable(Node& handle, Value value, Value initial_value,
                               const VariableOptions& options) {
  auto variable = std::make_unique<Variable>();
  variable->name = handle.Attr<std::string>("shared_name");
  variable->object_path = options.object_path;
  variable->dtype = handle.Attr<DType>("dtype");
  variable->shape = handle.Attr<Shape>("shape");
  variable->trainable = options.trainable;
  variable->local = options.local;
  variable->handle = handle.output(0);
  variable->value = value;
  variable->initial_value = initial_value;
  Variable* const added = variables_.emplace_back(std::move(variable)).get();
  // The first of two that have something in common is the one that is found.
  variable_by_name_.try_emplace(added->name, added);
  variable_by_value_.try_emplace(added->handle, added);
  if (value.valid()) variable_by_value_.try_emplace(value, added);
  return added;
}

Variable* Graph::FindVariable(std::string_view name) const {
  const auto found = variable_by_name_.find(name);
  return found == variable_by_name_.end() ? nullptr : found->second;
}

Variable* Graph::VariableOf(Value value) const {
  const auto found = variable_by_value_.find(value);
  return found == variable_by_value_.end() ? nullptr : found->second;
}

void Graph::AddLayer(std::string name, std::string_view type, int first_node, Value output) {
  layers_.push_back({std::move(name), std::string(type), origin_, first_node, next_node(), output});
}

Node* Graph::FindNode(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : found->second;
}

// name_counts_ holds, for each name that was given out, the suffix to try next; "a_1" that somebody
// asked for by itself is passed over.
std::string Graph::UniqueName(std::string_view name) {
  std::string full = scope_ + std::string(name);
  const auto [where, is_new] = name_counts_.try_emplace(full, 1);
  if (is_new) return full;
  while (true) {
    std::string candidate = fmt::format("{}_{}", full, where->second++);
    if (name_counts_.try_emplace(candidate, 1).second) return candidate;
  }
}

std::string Graph::UniqueLayerName(std::string_view base) {
  const int count = layer_counts_[std::string(base)]++;
  return count == 0 ? std::string(base) : fmt::format("{}_{}", base, count);
}

NameScope::NameScope(Graph& graph, std::string_view name) : graph_(graph), saved_(graph.scope_) {
  graph_.scope_ = graph_.UniqueName(name) + "/";
}

Tensor ShapeContext::Constant(int i) const { return ConstantValue(node_.input(i)); }

void ShapeContext::Fail(const std::string& message) const { ThrowAt(node_, message); }

Tensor ConstantValue(Value v) {
  const Node& node = *BehindIdentities(v).node;
  if (node.op().source == ValueSource::kConstant) return node.Attr<Tensor>("value");
  return node.op().of_shape == nullptr ? Tensor() : node.op().of_shape(node);
}

}  // namespace tpuest
