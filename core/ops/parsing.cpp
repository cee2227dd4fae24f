#include "core/ops/parsing.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "core/graph/bound_op.h"
#include "core/io/example.h"
#include "core/ops/array.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

Value Strings(Graph& graph, const std::vector<std::string>& values, std::string_view name) {
  return graph.Constant(Tensor::Strings({static_cast<int64_t>(values.size())}, values), name);
}

// TensorFlow's way to say that there is no default: no elements.
Value DefaultOf(Graph& graph, const DenseFeature& feature) {
  if (!feature.default_value.valid()) return graph.Constant(Tensor(feature.dtype, {0}));
  std::string name = "key_" + feature.key;
  for (char& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits) c = '_';
  }
  const Tensor& value = feature.default_value;
  return Reshape(graph.Constant(value.Reshaped({value.elements()}), name), feature.shape);
}

}  // namespace

std::vector<Value> ParseExample(Value serialized, const std::vector<DenseFeature>& features,
                                std::string_view name) {
  Graph& graph = serialized.graph();
  const NameScope scope(graph, name);
  std::vector<std::string> keys;
  std::vector<DType> types;
  std::vector<Shape> shapes;
  std::vector<Value> defaults;
  for (const DenseFeature& feature : features) {
    keys.push_back(feature.key);
    types.push_back(feature.dtype);
    shapes.push_back(feature.shape);
    defaults.push_back(DefaultOf(graph, feature));
  }
  const std::string op = "ParseExampleV2";
  std::vector<Value> inputs = {
      serialized, Strings(graph, {}, op + "/names"), Strings(graph, {}, op + "/sparse_keys"),
      Strings(graph, keys, op + "/dense_keys"), Strings(graph, {}, op + "/ragged_keys")};
  inputs.insert(inputs.end(), defaults.begin(), defaults.end());
  Node* const node = graph.AddNode(op, inputs,
                                   {{"Tdense", types},
                                    {"num_sparse", int64_t{0}},
                                    {"sparse_types", std::vector<DType>()},
                                    {"ragged_value_types", std::vector<DType>()},
                                    {"ragged_split_types", std::vector<DType>()},
                                    {"dense_shapes", shapes}},
                                   op);
  std::vector<Value> values;
  for (int i = 0; i < node->outputs(); ++i) values.push_back(node->output(i));
  return values;
}

namespace {

// Where things stand among the inputs and outputs of ParseExample and ParseExampleV2.
struct Layout {
  explicit Layout(const Node& node)
      : v2(node.type() == "ParseExampleV2"),
        dense(static_cast<int>(node.Attr<std::vector<DType>>("Tdense").size())),
        sparse(static_cast<int>(node.Attr<int64_t>(v2 ? "num_sparse" : "Nsparse"))),
        ragged(v2 ? static_cast<int>(node.Attr<std::vector<DType>>("ragged_value_types").size())
                  : 0) {}

  [[nodiscard]] int first_default() const { return v2 ? 5 : 2 + sparse + dense; }
  [[nodiscard]] int first_output() const { return 3 * sparse; }

  bool v2;
  int dense;
  int sparse;
  int ragged;
};

// Rows of `serialized` in front of a feature's own shape.
Shape Joined(const Shape& rows, const Shape& feature) {
  if (!rows.known_rank() || !feature.known_rank()) return Shape::UnknownRank();
  std::vector<int64_t> dims = rows.dims();
  dims.insert(dims.end(), feature.dims().begin(), feature.dims().end());
  return Shape(std::move(dims));
}

void CheckDense(const ShapeContext& context, const Layout& layout) {
  const Node& node = context.node();
  const auto& shapes = node.Attr<std::vector<Shape>>("dense_shapes");
  if (static_cast<int>(shapes.size()) != layout.dense) {
    context.Fail(fmt::format("{} dense_shapes for {} dense features", shapes.size(), layout.dense));
  }
  const int given = context.inputs() - layout.first_default();
  if (given != layout.dense) {
    context.Fail(fmt::format("{} dense_defaults for {} dense features", given, layout.dense));
  }
  for (int i = 0; i < layout.dense; ++i) {
    const Shape& shape = shapes[static_cast<size_t>(i)];
    const Shape& value = context.Input(layout.first_default() + i);
    if (!shape.fully_known() || !value.fully_known() || value.elements() == 0) continue;
    if (value != shape) {
      context.Fail(fmt::format("dense_defaults[{}] is {}, dense_shapes[{}] is {}", i, value.Text(),
                               i, shape.Text()));
    }
  }
}

void ParseExampleShape(ShapeContext& context) {
  const Node& node = context.node();
  const Layout layout(node);
  const Shape& rows = context.Input(0);
  if (rows.known_rank() && rows.rank() > 1) {
    context.Fail(fmt::format("serialized is {}, expected a vector", rows.Text()));
  }
  CheckDense(context, layout);
  for (int i = 0; i < layout.sparse; ++i) {
    const int64_t rank = rows.known_rank() ? rows.rank() + 1 : kUnknownDim;
    context.Output(i, Shape({kUnknownDim, rank}));
    context.Output(layout.sparse + i, Shape({kUnknownDim}));
    context.Output(2 * layout.sparse + i, Shape({rank}));
  }
  const auto& shapes = node.Attr<std::vector<Shape>>("dense_shapes");
  for (int i = 0; i < layout.dense; ++i) {
    context.Output(layout.first_output() + i, Joined(rows, shapes[static_cast<size_t>(i)]));
  }
  const int first_ragged = layout.first_output() + layout.dense;
  for (int i = 0; i < 2 * layout.ragged; ++i) {
    context.Output(first_ragged + i, Shape({kUnknownDim}));
  }
}

// Runs as it is, unless the size of a result depends on the examples.
BoundOp BindParseExample(const Node& node) {
  const Layout layout(node);
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::kUsage, fmt::format("{} '{}': {}", node.type(), node.name(), what),
                "FixedLenFeature of a known shape runs everywhere")
        .At(node.origin());
  };
  if (layout.sparse > 0) refuse("sparse features (VarLenFeature) are of no fixed size");
  if (layout.ragged > 0) refuse("ragged features are of no fixed size");
  for (const Shape& shape : node.Attr<std::vector<Shape>>("dense_shapes")) {
    if (!shape.fully_known()) {
      refuse(fmt::format("a dense feature of shape {} is of no fixed size", shape.Text()));
    }
  }
  return {node.type(), node.attrs()};
}

FeatureKind KindOf(DType dtype) {
  if (dtype == DType::kString) return FeatureKind::kBytes;
  return dtype == DType::kFloat ? FeatureKind::kFloat : FeatureKind::kInt64;
}

// As TensorFlow names what a list of a tf.Example holds.
std::string_view TypeNameOf(FeatureKind kind) {
  if (kind == FeatureKind::kBytes) return "string";
  return kind == FeatureKind::kFloat ? "float" : "int64";
}

// Parses one row after the other into the dense outputs.
class DenseParser {
 public:
  explicit DenseParser(PlanContext& context) : node_(&context.node()) {
    const Layout layout(context.node());
    const auto& types = context.Attr<std::vector<DType>>("Tdense");
    const auto& shapes = context.Attr<std::vector<Shape>>("dense_shapes");
    const std::vector<std::string> keys = KeysOf(context, layout);
    for (int i = 0; i < layout.dense; ++i) {
      const auto at = static_cast<size_t>(i);
      const int input = layout.first_default() + i;
      const bool has_default = context.InputShape(input).elements() > 0;
      dense_.push_back({keys[at], KindOf(types[at]), shapes[at], context.Input(input), has_default,
                        context.Output(layout.first_output() + i)});
    }
    for (size_t i = 0; i < dense_.size(); ++i) by_key_[dense_[i].key] = i;
    serialized_ = context.Input(0);
    rows_ = context.InputShape(0).elements();
    if (context.InputShape(1).elements() > 0) names_ = context.Input(1);
  }

  void Run(const Task& task) const {
    std::vector<char> seen;
    for (int64_t row = 0; row < rows_; ++row) {
      seen.assign(dense_.size(), 0);
      tpuest::ParseExample(task.At<std::string_view>(serialized_)[row],
                           [&](const FeatureView& feature) {
                             const auto found = by_key_.find(feature.name);
                             // A feature without any list is as good as none.
                             if (found == by_key_.end() || feature.kind == FeatureKind::kNone)
                               return;
                             seen[found->second] = 1;
                             Take(task, row, dense_[found->second], feature);
                           });
      for (size_t i = 0; i < dense_.size(); ++i) {
        if (seen[i] == 0) TakeDefault(task, row, dense_[i]);
      }
    }
  }

 private:
  struct Dense {
    std::string key;
    FeatureKind kind;
    Shape shape;
    Buffer default_value;
    bool has_default;
    Buffer out;
  };

  static std::vector<std::string> KeysOf(PlanContext& context, const Layout& layout) {
    std::vector<std::string> keys;
    const int first = layout.v2 ? 3 : 2 + layout.sparse;
    const int inputs = layout.v2 ? 1 : layout.dense;
    for (int i = first; i < first + inputs; ++i) {
      const Tensor given = context.Constant(i);
      if (!given.valid()) Refuse(context.node(), "its dense_keys are no constant");
      for (const std::string_view key : given.strings()) keys.emplace_back(key);
    }
    if (static_cast<int>(keys.size()) != layout.dense) {
      Refuse(context.node(),
             fmt::format("{} dense_keys for {} dense features", keys.size(), layout.dense));
    }
    return keys;
  }

  [[noreturn]] static void Refuse(const Node& node, const std::string& what) {
    throw Error(Code::kUsage, fmt::format("{} '{}': {}", node.type(), node.name(), what))
        .At(node.origin());
  }

  [[noreturn]] void Wrong(const Task& task, int64_t row, const std::string& what) const {
    const std::string_view name =
        names_.id < 0 ? std::string_view("<unknown>") : task.At<std::string_view>(names_)[row];
    throw Error(
        Code::kData, fmt::format("Name: {}, {}", name, what),
        fmt::format("example {} of the batch, in {} '{}'", row, node_->type(), node_->name()))
        .At(node_->origin());
  }

  void Take(const Task& task, int64_t row, const Dense& dense, const FeatureView& feature) const {
    if (feature.kind != dense.kind) {
      Wrong(task, row,
            fmt::format("Key: {}, Index: {}.  Data types don't match. Data type: {} but expected "
                        "type: {}",
                        dense.key, row, TypeNameOf(feature.kind), TypeNameOf(dense.kind)));
    }
    const auto count = static_cast<size_t>(dense.shape.elements());
    if (feature.count != count) {
      Wrong(task, row,
            fmt::format("Key: {}, Index: {}.  Number of {} values != expected.  Values size: {} "
                        "but output shape: {}",
                        dense.key, row, TypeNameOf(dense.kind), feature.count, dense.shape.Text()));
    }
    switch (dense.kind) {
      case FeatureKind::kBytes:
        return feature.CopyBytes({RowOf<std::string_view>(task, dense, row), count});
      case FeatureKind::kFloat:
        return feature.CopyFloats({RowOf<float>(task, dense, row), count});
      default:
        return feature.CopyInts({RowOf<int64_t>(task, dense, row), count});
    }
  }

  void TakeDefault(const Task& task, int64_t row, const Dense& dense) const {
    const int64_t count = dense.shape.elements();
    if (!dense.has_default && count > 0) {
      Wrong(task, row,
            fmt::format("Feature: {} (data type: {}) is required but could not be found.",
                        dense.key, TypeNameOf(dense.kind)));
    }
    switch (dense.kind) {
      case FeatureKind::kBytes:
        return CopyDefault<std::string_view>(task, row, dense);
      case FeatureKind::kFloat:
        return CopyDefault<float>(task, row, dense);
      default:
        return CopyDefault<int64_t>(task, row, dense);
    }
  }

  template <class T>
  void CopyDefault(const Task& task, int64_t row, const Dense& dense) const {
    std::copy_n(task.At<T>(dense.default_value), dense.shape.elements(),
                RowOf<T>(task, dense, row));
  }

  template <class T>
  static T* RowOf(const Task& task, const Dense& dense, int64_t row) {
    return task.At<T>(dense.out) + row * dense.shape.elements();
  }

  const Node* node_;
  Buffer serialized_;
  Buffer names_;  // none: id -1
  int64_t rows_ = 0;
  std::vector<Dense> dense_;
  std::unordered_map<std::string_view, size_t> by_key_;
};

void PlanParseExample(PlanContext& context) {
  const auto parser = std::make_shared<const DenseParser>(context);
  context.Run([parser](const Task& task) { parser->Run(task); });
}

const OpDef kParsingOps[] = {
    {.name = "ParseExampleV2",
     .signature =
         "serialized: string, names: string, sparse_keys: string, dense_keys: string, "
         "ragged_keys: string, dense_defaults: list(Tdense) -> sparse_indices: num_sparse*int64, "
         "sparse_values: list(sparse_types), sparse_shapes: num_sparse*int64, "
         "dense_values: list(Tdense), ragged_values: list(ragged_value_types), "
         "ragged_row_splits: list(ragged_split_types); Tdense: list(type); num_sparse: int; "
         "sparse_types: list(type); ragged_value_types: list(type); "
         "ragged_split_types: list(type); dense_shapes: list(shape)",
     .shape = ParseExampleShape,
     .grad = NoGradient,
     .cpu = PlanParseExample,
     .bind = BindParseExample,
     .host = true},
    {.name = "ParseExample",
     .signature =
         "serialized: string, names: string, sparse_keys: Nsparse*string, "
         "dense_keys: Ndense*string, dense_defaults: list(Tdense) -> "
         "sparse_indices: Nsparse*int64, sparse_values: list(sparse_types), "
         "sparse_shapes: Nsparse*int64, dense_values: list(Tdense); Nsparse: int; Ndense: int; "
         "sparse_types: list(type); Tdense: list(type); dense_shapes: list(shape)",
     .shape = ParseExampleShape,
     .grad = NoGradient,
     .cpu = PlanParseExample,
     .bind = BindParseExample,
     .host = true},
};

}  // namespace

OpFamily ParsingOps() { return kParsingOps; }

}  // namespace tpuest::ops
