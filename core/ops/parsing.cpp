#include "core/ops/parsing.h"

#include <algorithm>
#include <limits>

#include "core/graph/bound_op.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/parse_plan.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

Value Strings(Graph& graph, const std::vector<std::string>& values, std::string_view name) {
  return graph.Constant(Tensor::Strings({static_cast<int64_t>(values.size())}, values), name);
}

// Returns a feature's default; in TensorFlow an empty default means that there is none.
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

Value Padding(Graph& graph, DType dtype) {
  if (dtype == DType::kString) return graph.Constant(Tensor::Strings({}, {""}), "padding");
  constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
  return graph.ScalarOf(dtype, dtype == DType::kFloat ? kAbsent : -1, "padding");
}

}  // namespace

std::vector<Value> ParseExample(Value serialized, const std::vector<DenseFeature>& features,
                                std::string_view name) {
  return ParseExample(serialized, features, {}, name);
}

std::vector<Value> ParseExample(Value serialized, const std::vector<DenseFeature>& features,
                                const std::vector<VarLenFeature>& lists, std::string_view name) {
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
  std::vector<std::string> list_keys;
  std::vector<DType> list_types;
  for (const VarLenFeature& list : lists) {
    list_keys.push_back(list.key);
    list_types.push_back(list.dtype);
  }
  const std::string op = "ParseExampleV2";
  std::vector<Value> inputs = {
      serialized, Strings(graph, {}, op + "/names"), Strings(graph, list_keys, op + "/sparse_keys"),
      Strings(graph, keys, op + "/dense_keys"), Strings(graph, {}, op + "/ragged_keys")};
  inputs.insert(inputs.end(), defaults.begin(), defaults.end());
  Node* const node = graph.AddNode(op, inputs,
                                   {{"Tdense", types},
                                    {"num_sparse", static_cast<int64_t>(lists.size())},
                                    {"sparse_types", list_types},
                                    {"ragged_value_types", std::vector<DType>()},
                                    {"ragged_split_types", std::vector<DType>()},
                                    {"dense_shapes", shapes}},
                                   op);
  const ParseLayout layout(*node);
  const auto shape_of = [&](int i) {
    const int64_t least = lists[static_cast<size_t>(i)].least_width;
    const Value shape = node->output(layout.shape(i));
    if (least == 0) return shape;
    return Maximum(shape, graph.Constant(Tensor::Of<int64_t>({2}, {0, least}), "least_shape"));
  };
  std::vector<Value> values;
  for (int i = 0; i < layout.dense; ++i) values.push_back(node->output(layout.first_dense() + i));
  for (int i = 0; i < layout.sparse; ++i) {
    values.push_back(SparseToDense(node->output(layout.indices(i)), shape_of(i),
                                   node->output(layout.values(i)),
                                   Padding(graph, lists[static_cast<size_t>(i)].dtype)));
  }
  for (int i = 0; i < layout.sparse; ++i) {
    values.push_back(SparseToDense(node->output(layout.indices(i)), shape_of(i),
                                   graph.Constant(Tensor::Scalar(true), "value"),
                                   graph.Constant(Tensor::Scalar(false), "no_value")));
  }
  return values;
}

namespace {

// The dimensions of `serialized` followed by a feature's own shape.
Shape Joined(const Shape& rows, const Shape& feature) {
  if (!rows.known_rank() || !feature.known_rank()) return Shape::UnknownRank();
  std::vector<int64_t> dims = rows.dims();
  dims.insert(dims.end(), feature.dims().begin(), feature.dims().end());
  return Shape(std::move(dims));
}

void CheckDense(const ShapeContext& context, const ParseLayout& layout) {
  const Node& node = context.node();
  const auto& shapes = node.Attr<std::vector<Shape>>("dense_shapes");
  if (static_cast<int>(shapes.size()) != layout.dense) {
    context.Fail(
        fmt::format("found {} dense_shapes for {} dense features", shapes.size(), layout.dense));
  }
  const size_t types = node.Attr<std::vector<DType>>("sparse_types").size();
  if (layout.sparse < 0 || types != static_cast<size_t>(layout.sparse)) {
    context.Fail(fmt::format("found {} sparse_types for {} sparse features", types, layout.sparse));
  }
  const int given = context.inputs() - layout.first_default();
  if (given != layout.dense) {
    context.Fail(fmt::format("found {} dense_defaults for {} dense features", given, layout.dense));
  }
  for (int i = 0; i < layout.dense; ++i) {
    const Shape& shape = shapes[static_cast<size_t>(i)];
    const Shape& value = context.Input(layout.first_default() + i);
    if (!shape.fully_known() || !value.fully_known() || value.elements() == 0) continue;
    if (value != shape) {
      context.Fail(fmt::format("dense_defaults[{}] is {}, but dense_shapes[{}] is {}", i,
                               value.Text(), i, shape.Text()));
    }
  }
}

// The number of values of each sparse feature, if the examples are known.
std::vector<int64_t> CountsOf(const ShapeContext& context, const ParseLayout& layout) {
  const Tensor serialized = context.Constant(0);
  const std::vector<std::string> keys = SparseKeys(context.node());
  const auto features = static_cast<size_t>(layout.sparse);
  if (!serialized.valid() || keys.size() != features) {
    return std::vector<int64_t>(features, kUnknownDim);
  }
  return CountValues(serialized, keys);
}

void ParseExampleShape(ShapeContext& context) {
  const Node& node = context.node();
  const ParseLayout layout(node);
  const Shape& rows = context.Input(0);
  if (rows.known_rank() && rows.rank() > 1) {
    context.Fail(fmt::format("serialized is {}, expected a vector", rows.Text()));
  }
  const Shape& names = context.Input(1);
  const bool has_names =
      names.known_rank() && std::count(names.dims().begin(), names.dims().end(), 0) == 0;
  if (has_names && !Compatible(names, rows)) {
    context.Fail(fmt::format("names is {}, expected none or one for each of serialized, {}",
                             names.Text(), rows.Text()));
  }
  CheckDense(context, layout);
  const std::vector<int64_t> counts = CountsOf(context, layout);
  for (int i = 0; i < layout.sparse; ++i) {
    const int64_t rank = rows.known_rank() ? rows.rank() + 1 : kUnknownDim;
    context.Output(layout.indices(i), Shape({counts[static_cast<size_t>(i)], rank}));
    context.Output(layout.values(i), Shape({counts[static_cast<size_t>(i)]}));
    context.Output(layout.shape(i), Shape({rank}));
  }
  const auto& shapes = node.Attr<std::vector<Shape>>("dense_shapes");
  for (int i = 0; i < layout.dense; ++i) {
    context.Output(layout.first_dense() + i, Joined(rows, shapes[static_cast<size_t>(i)]));
  }
  const int first_ragged = layout.first_dense() + layout.dense;
  for (int i = 0; i < 2 * layout.ragged; ++i) {
    context.Output(first_ragged + i, Shape({kUnknownDim}));
  }
}

BoundOp BindParseExample(const Node& node) {
  const ParseLayout layout(node);
  const auto refuse = [&](const std::string& what) {
    throw Error(Code::kUsage, fmt::format("{} '{}': {}", node.type(), node.name(), what),
                "use a FixedLenFeature of a known shape")
        .At(node.origin());
  };
  if (layout.ragged > 0) refuse("ragged features have no fixed size");
  for (const Shape& shape : node.Attr<std::vector<Shape>>("dense_shapes")) {
    if (!shape.fully_known()) {
      refuse(fmt::format("a dense feature of shape {} has no fixed size", shape.Text()));
    }
  }
  if (layout.sparse == 0) return {node.type(), node.attrs()};
  return {.op = {},
          .attrs = {},
          .sized_by_values = "the sizes of sparse features (VarLenFeature) depend on the examples",
          .hint = "use a FixedLenFeature of a known shape"};
}

const OpDef kParsingOps[] = {
    {.name = "ParseExampleV2",
     .signature =
         "serialized: string, names: string, sparse_keys: string, dense_keys: string, "
         "ragged_keys: string, dense_defaults: list(Tdense) -> sparse_indices: num_sparse*int64, "
         "sparse_values: list(sparse_types), sparse_shapes: num_sparse*int64, "
         "dense_values: list(Tdense), ragged_values: list(ragged_value_types), "
         "ragged_row_splits: list(ragged_split_types); Tdense: list(float|int64|string); "
         "num_sparse: int >= 0; sparse_types: list(float|int64|string); "
         "ragged_value_types: list(float|int64|string); "
         "ragged_split_types: list(int32|int64); dense_shapes: list(shape)",
     .shape = ParseExampleShape,
     .grad = NoGradient,
     .cpu = PlanParseExample,
     .bind = BindParseExample,
     .host = true},
    {.name = "ParseExample",
     .signature = "serialized: string, names: string, sparse_keys: Nsparse*string, "
                  "dense_keys: Ndense*string, dense_defaults: list(Tdense) -> "
                  "sparse_indices: Nsparse*int64, sparse_values: list(sparse_types), "
                  "sparse_shapes: Nsparse*int64, dense_values: list(Tdense); Nsparse: int >= 0; "
                  "Ndense: int >= 0; sparse_types: list(float|int64|string); "
                  "Tdense: list(float|int64|string); dense_shapes: list(shape)",
     .shape = ParseExampleShape,
     .grad = NoGradient,
     .cpu = PlanParseExample,
     .bind = BindParseExample,
     .host = true},
};

}  // namespace

OpFamily ParsingOps() { return kParsingOps; }

}  // namespace tpuest::ops
