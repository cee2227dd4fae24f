#pragma once
// A model as a graph of TensorFlow ops. Nodes are added in topological order and never change
// afterwards, except for control inputs; shapes and dtypes are inferred when a node is added.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/graph/attr.h"
#include "core/graph/op_def.h"
#include "core/graph/signature.h"

namespace tpuest {

class Graph;
class Node;

// The place of the job file that a node comes from.
using Origin = Place;

// One output of a node. A default-constructed Value is not valid().
struct Value {
  Node* node = nullptr;
  int index = 0;

  [[nodiscard]] bool valid() const { return node != nullptr; }
  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Graph& graph() const;
  // "conv2d/Relu" or "split:1".
  [[nodiscard]] std::string name() const;
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};

// An op and its signature in the registry of a graph.
struct RegisteredOp {
  const OpDef* def = nullptr;
  Signature signature;
};

// The ops that a graph may use.
class OpRegistry {
 public:
  explicit OpRegistry(const std::vector<OpFamily>& families);
  [[nodiscard]] const RegisteredOp* Find(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, RegisteredOp, std::less<>>& ops() const { return ops_; }

 private:
  std::map<std::string, RegisteredOp, std::less<>> ops_;
};

class Node {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const OpDef& op() const { return *op_->def; }
  [[nodiscard]] const Signature& signature() const { return op_->signature; }
  [[nodiscard]] std::string_view type() const { return op_->def->name; }
  [[nodiscard]] int id() const { return id_; }  // position in Graph::nodes()
  [[nodiscard]] Graph& graph() const { return *graph_; }
  [[nodiscard]] const std::vector<Value>& inputs() const { return inputs_; }
  [[nodiscard]] const Value& input(int i) const { return inputs_[static_cast<size_t>(i)]; }
  // For an Identity: the value behind any chain of Identities. Not valid() for other nodes.
  [[nodiscard]] const Value& identical() const { return identical_; }
  [[nodiscard]] const std::vector<Node*>& control_inputs() const { return control_inputs_; }
  void AddControlInput(Node* node) { control_inputs_.push_back(node); }
  [[nodiscard]] int outputs() const { return static_cast<int>(output_dtypes_.size()); }
  [[nodiscard]] Value output(int i) { return {this, i}; }
  [[nodiscard]] DType output_dtype(int i) const { return output_dtypes_[static_cast<size_t>(i)]; }
  [[nodiscard]] const Shape& output_shape(int i) const {
    return output_shapes_[static_cast<size_t>(i)];
  }
  [[nodiscard]] const Origin& origin() const { return origin_; }
  // True if the node only orders other nodes (NoOp): it has only control inputs and outputs.
  [[nodiscard]] bool only_orders() const {
    return inputs_.empty() && output_dtypes_.empty() && !op().stateful;
  }
  // True if the node belongs to the program that runs after the device, on the concatenated outputs
  // of all replicas.
  [[nodiscard]] bool after() const { return after_; }

  [[nodiscard]] const Attrs& attrs() const { return attrs_; }
  [[nodiscard]] bool HasAttr(std::string_view name) const;
  // Returns an attribute by type; Check fails if it is missing or has another type.
  template <class T>
  [[nodiscard]] const T& Attr(std::string_view name) const {
    const T* const value = std::get_if<T>(&AttrOf(name));
    Check(value != nullptr, "{} '{}': attribute {} has another type", type(), name_, name);
    return *value;
  }

 private:
  friend class Graph;
  [[nodiscard]] const AttrValue& AttrOf(std::string_view name) const;

  Graph* graph_ = nullptr;
  int id_ = 0;
  std::string name_;
  const RegisteredOp* op_ = nullptr;
  std::vector<Value> inputs_;
  Value identical_;
  std::vector<Node*> control_inputs_;
  Attrs attrs_;
  std::vector<DType> output_dtypes_;
  std::vector<Shape> output_shapes_;
  Origin origin_;
  bool after_ = false;
};

// An attribute of lookups by which an update reads the rows that it writes. If processes share a
// table (core/backend/rows/row_owners.h), each reads only the rows that it owns. Files do not store
// it.
inline constexpr std::string_view kOwnRows = "_own_rows";
// An attribute of nodes that gather row numbers and gradients from all replicas for the update of
// one table only: the table's name. Each process needs only the rows that it owns. Files do not
// store it.
inline constexpr std::string_view kRowsOf = "_rows_of";

// A resource variable: a VarHandleOp, the ReadVariableOp that all uses share, and its initial
// value.
struct Variable {
  std::string name;         // in checkpoints: "conv2d/kernel"
  std::string object_path;  // in object-based checkpoints: "layer_with_weights-0/kernel"
  DType dtype = DType::kFloat;
  Shape shape;
  bool trainable = true;
  bool local = false;  // not saved, such as a metric's sums
  // Saved for readers of the checkpoint; a run always starts with initial_value.
  bool from_job = false;
  // True if only rows of it are read and written (ResourceGather, ResourceScatterUpdate): a backend
  // may keep only the materialized rows.
  bool by_rows = false;
  std::string table;  // if by_rows: the variable whose slot it is, or its own name
  Value handle;       // VarHandleOp
  Value value;        // ReadVariableOp at the start of the step
  Value initial_value;
};

// A part of the model with a name that users know: a layer, or the nodes of a feature column.
struct GraphLayer {
  std::string name;  // "conv2d_1", "linear/linear_model/age"
  std::string type;  // the job's word: "conv2d", "embedding_column"
  Origin origin;
  // Ids of the nodes that were added for it, including those of its variables: first <= id < end.
  int first_node = 0;
  int end_node = 0;
  Value output;
};

struct VariableOptions {
  bool trainable = true;
  bool local = false;
  std::string object_path;
};

class Graph {
 public:
  explicit Graph(const OpRegistry& registry) : registry_(&registry) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  [[nodiscard]] const OpRegistry& registry() const { return *registry_; }

  // Adds a node and infers its dtypes and shapes. Type and number attributes follow from the
  // inputs; other missing attributes take the signature's default. `name` (default: the op's) is
  // made unique inside the current name scope as TensorFlow does: "Relu", "Relu_1". Throws Error
  // kUsage with the node's origin if shapes or dtypes do not fit.
  Node* AddNode(std::string_view op, std::vector<Value> inputs, Attrs attrs = {},
                std::string_view name = "");
  // Calls AddNode and returns the first output of the node.
  Value Add(std::string_view op, std::vector<Value> inputs, Attrs attrs = {},
            std::string_view name = "") {
    return {AddNode(op, std::move(inputs), std::move(attrs), name), 0};
  }
  // Adds a node under exactly this name, outside any scope (for reading a GraphDef and for
  // cloning).
  Node* AddNamedNode(std::string_view op, std::vector<Value> inputs, Attrs attrs, std::string name,
                     Origin origin);

  Value Constant(const Tensor& value, std::string_view name = "Const");
  Value NamedConstant(const Tensor& value, std::string name, Origin origin);
  template <class T>
  Value Scalar(T value, std::string_view name = "Const") {
    return Constant(Tensor::Scalar<T>(value), name);
  }
  // A scalar constant of the given floating or integer dtype.
  Value ScalarOf(DType dtype, double value, std::string_view name = "Const");
  // Adds a tensor that is fed in each run. A batch's first dimension is kUnknownDim unless it is
  // static.
  Value Placeholder(DType dtype, const Shape& shape, std::string_view name);
  Value NamedPlaceholder(DType dtype, const Shape& shape, std::string name, Origin origin);

  // Adds a variable. `name` is its name in the checkpoint and is used as it is (no scope, no
  // suffix). Throws Error kUsage if it is taken.
  Variable* AddVariable(const std::string& name, DType dtype, const Shape& shape,
                        Value initial_value, const VariableOptions& options = {});
  // Makes a variable from an existing VarHandleOp, under its shared_name; `value` and
  // `initial_value` are not valid() if no node reads or initializes it.
  Variable* AdoptVariable(Node& handle, Value value, Value initial_value,
                          const VariableOptions& options = {});
  [[nodiscard]] Variable* FindVariable(std::string_view name) const;
  // Returns the variable whose handle or value this is, or nullptr.
  [[nodiscard]] Variable* VariableOf(Value value) const;
  [[nodiscard]] const std::vector<std::unique_ptr<Variable>>& variables() const {
    return variables_;
  }

  // Records the nodes from `first_node` on as a layer that comes from the current place.
  void AddLayer(std::string name, std::string_view type, int first_node, Value output);
  // The layers in the order in which they were finished.
  [[nodiscard]] const std::vector<GraphLayer>& layers() const { return layers_; }

  [[nodiscard]] const std::vector<std::unique_ptr<Node>>& nodes() const { return nodes_; }
  // The id of the next node.
  [[nodiscard]] int next_node() const { return static_cast<int>(nodes_.size()); }
  [[nodiscard]] Node* FindNode(std::string_view name) const;

  // Returns a name that is free in the current scope, with the scope's prefix, and reserves it.
  std::string UniqueName(std::string_view name);
  // Returns a default name "dense", "dense_1", ... for a layer: counted graph-wide, as in
  // tf.layers.
  std::string UniqueLayerName(std::string_view base);

 private:
  friend class NameScope;
  friend class OriginScope;
  friend class AfterScope;
  Node* Insert(std::unique_ptr<Node> node);

  const OpRegistry* registry_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unordered_map<std::string, Node*> by_name_;
  std::unordered_map<std::string, int> name_counts_;
  std::unordered_map<std::string, int> layer_counts_;
  std::vector<std::unique_ptr<Variable>> variables_;
  std::unordered_map<std::string_view, Variable*> variable_by_name_;
  std::map<Value, Variable*> variable_by_value_;  // by value and by handle
  std::vector<GraphLayer> layers_;
  std::string scope_;  // "" or "a/b/"
  Origin origin_;
  bool after_ = false;
};

// While it lives, new nodes are named under `name` (made unique).
class NameScope {
 public:
  NameScope(Graph& graph, std::string_view name);
  ~NameScope() { graph_.scope_ = saved_; }
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  Graph& graph_;
  std::string saved_;
};

// While it lives, new nodes have this place of the job as their origin.
class OriginScope {
 public:
  OriginScope(Graph& graph, Origin origin) : graph_(graph), saved_(graph.origin_) {
    if (origin.line > 0) graph_.origin_ = std::move(origin);
  }
  ~OriginScope() { graph_.origin_ = saved_; }
  OriginScope(const OriginScope&) = delete;
  OriginScope& operator=(const OriginScope&) = delete;

 private:
  Graph& graph_;
  Origin saved_;
};

// While it lives, new nodes run after the device (metrics, string predictions, host calls).
class AfterScope {
 public:
  explicit AfterScope(Graph& graph) : graph_(graph), saved_(graph.after_) { graph_.after_ = true; }
  ~AfterScope() { graph_.after_ = saved_; }
  AfterScope(const AfterScope&) = delete;
  AfterScope& operator=(const AfterScope&) = delete;

 private:
  Graph& graph_;
  bool saved_;
};

// A shape function reads its node's inputs through this, and sets the shapes of its outputs.
class ShapeContext {
 public:
  ShapeContext(const Node& node, std::vector<Shape>& outputs) : node_(node), outputs_(outputs) {}
  [[nodiscard]] const Node& node() const { return node_; }
  [[nodiscard]] int inputs() const { return static_cast<int>(node_.inputs().size()); }
  [[nodiscard]] const Shape& Input(int i) const {
    Check(i >= 0 && i < inputs(), "{} '{}' has no input {}", node_.type(), node_.name(), i);
    return node_.input(i).shape();
  }
  // Returns the value of input i if it is known while the graph is built, otherwise an invalid
  // Tensor.
  [[nodiscard]] Tensor Constant(int i) const;
  void Output(int i, Shape shape) {
    Check(i >= 0 && i < node_.outputs(), "{} '{}' has no output {}", node_.type(), node_.name(), i);
    outputs_[static_cast<size_t>(i)] = std::move(shape);
  }
  // Throws Error kUsage: "MatMul 'logits': <message>" with the node's origin.
  [[noreturn]] void Fail(const std::string& message) const;

 private:
  const Node& node_;
  std::vector<Shape>& outputs_;
};

// Returns the value behind any chain of Identities that v ends.
[[nodiscard]] inline Value BehindIdentities(Value v) {
  return v.node->identical().valid() ? v.node->identical() : v;
}

// Returns the value of v if it is known while the graph is built (a Const, or the Shape, Size or
// Rank of a value with known dimensions), otherwise an invalid Tensor.
[[nodiscard]] Tensor ConstantValue(Value v);

}  // namespace tpuest
