#include "data/examples/map_nodes.h"

#include "core/nn/formula/formula.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/parsing.h"

namespace tpuest::data {
namespace {

// The shape of a batch of rows: [-1, ...].
Shape Batched(const Shape& row) {
  std::vector<int64_t> dims = row.dims();
  dims.insert(dims.begin(), kUnknownDim);
  return Shape(std::move(dims));
}

// The type in which a step computes: bfloat16 is computed in float and rounded at the end.
DType WideOf(DType dtype) { return dtype == DType::kBfloat16 ? DType::kFloat : dtype; }

// Casts integers to float32, as the steps over floats do.
Value FloatFirst(Value x) { return IsFloating(x.dtype()) ? x : ops::Cast(x, DType::kFloat); }

// One value as a scalar; several values as a vector that broadcasts over the last axis.
Value Numbers(Graph& graph, DType dtype, const std::vector<double>& values) {
  const Tensor all = Tensor::Of<double>({static_cast<int64_t>(values.size())}, values);
  return graph.Constant((values.size() == 1 ? all.Reshaped({}) : all).Cast(dtype));
}

Value Nodes(const DecodeRawMap& o, const TensorSpec& /*spec*/, Value x) {
  return RawNodes(x, *DTypeFromName(o.out_type), Shape(o.shape), o.little_endian);
}

Value Nodes(const CastMap& o, const TensorSpec& /*spec*/, Value x) {
  return ops::Cast(x, *DTypeFromName(o.dtype));
}

// The product is rounded once, from double, as in AffineStep.
Value Nodes(const RescalingMap& o, const TensorSpec& /*spec*/, Value x) {
  x = FloatFirst(x);
  const DType wide = WideOf(x.dtype());
  const Value product = ops::Mul(ops::Cast(x, DType::kDouble), o.scale);
  return ops::Cast(ops::AddV2(ops::Cast(product, wide), o.offset), x.dtype());
}

Value Nodes(const ReshapeMap& o, const TensorSpec& spec, Value x) {
  return ops::Reshape(x, Batched(ResolveMap(MapOptions(o), spec, "").spec.shape));
}

Value Nodes(const OneHotMap& o, const TensorSpec& /*spec*/, Value x) {
  // TensorFlow's OneHot takes int32 and int64 indices; narrower ones fit in int32.
  const bool index = x.dtype() == DType::kInt32 || x.dtype() == DType::kInt64;
  return ops::OneHot(index ? x : ops::Cast(x, DType::kInt32), {.depth = static_cast<int>(o.depth),
                                                               .dtype = *DTypeFromName(o.dtype),
                                                               .on_value = o.on_value,
                                                               .off_value = o.off_value});
}

// Small integers are added in int32 and wrap around when they are cast back.
Value Nodes(const AddMap& o, const TensorSpec& /*spec*/, Value x) {
  const bool narrow = IsInteger(x.dtype()) && SizeOf(x.dtype()) < sizeof(int32_t);
  const Value wide = ops::Cast(x, narrow ? DType::kInt32 : WideOf(x.dtype()));
  return ops::Cast(ops::AddV2(wide, o.value), x.dtype());
}

Value Nodes(const NormalizeMap& o, const TensorSpec& /*spec*/, Value x) {
  x = FloatFirst(x);
  const Value wide = ops::Cast(x, WideOf(x.dtype()));
  const Value mean = Numbers(x.graph(), wide.dtype(), o.mean);
  const Value std = Numbers(x.graph(), wide.dtype(), o.std);
  return ops::Cast(ops::RealDiv(ops::Sub(wide, mean), std), x.dtype());
}

// A formula reads several columns, so MapGraph builds its nodes.
Value Nodes(const ExprMap& o, const TensorSpec& /*spec*/, Value /*x*/) {
  throw Error(Code::kInternal, "a formula has no node of one column").At(o.value.place);
}

// The input workers decode and augment images; a receiver takes images in the form in which the
// model does.
Value Nodes(const ImageMap& /*o*/, const TensorSpec& spec, Value /*x*/) {
  throw Error(
      Code::kUsage,
      fmt::format("\"{}\" comes from map ops on images, which a parsing receiver cannot run",
                  spec.name),
      "serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn}")
      .Key(spec.key);
}

}  // namespace

Value MapNodes(const MapOptions& options, const TensorSpec& spec, Value x) {
  return std::visit([&](const auto& o) { return Nodes(o, spec, x); }, options);
}

Value RawNodes(Value x, DType dtype, const Shape& shape, bool little_endian) {
  // Any byte except 0 is true; DecodeRaw would keep the byte.
  const DType stored = dtype == DType::kBool ? DType::kUint8 : dtype;
  const Value numbers = ops::Reshape(ops::DecodeRaw(x, stored, little_endian), Batched(shape));
  return ops::Cast(numbers, dtype);
}

Value FormulaNodes(Graph& graph, const Formula& formula,
                   const std::map<std::string, Value>& columns) {
  nn::FormulaNames names{.rows = true};
  names.values.insert(columns.begin(), columns.end());
  names.groups["features"] = columns;
  return nn::BuildFormula(graph, formula, names);
}

Value ColumnPlaceholder(Graph& graph, const TensorSpec& column) {
  return graph.Placeholder(column.dtype, Batched(column.shape), "column");
}

TensorSpec SpecOf(Value column) {
  const std::vector<int64_t>& dims = column.shape().dims();
  return {.name = "", .dtype = column.dtype(), .shape = Shape({dims.begin() + 1, dims.end()})};
}

}  // namespace tpuest::data
