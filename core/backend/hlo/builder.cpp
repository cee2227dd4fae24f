#include "core/backend/hlo/builder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/base/error.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

// MLIR's names: "i8" is a signed integer, "ui8" an unsigned one, and a bool is "i1".
std::string_view ElementOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return "f32";
    case DType::kDouble:
      return "f64";
    case DType::kBfloat16:
      return "bf16";
    case DType::kInt8:
      return "i8";
    case DType::kInt16:
      return "i16";
    case DType::kInt32:
      return "i32";
    case DType::kInt64:
      return "i64";
    case DType::kUint8:
      return "ui8";
    case DType::kUint16:
      return "ui16";
    case DType::kUint32:
      return "ui32";
    case DType::kUint64:
      return "ui64";
    case DType::kBool:
      return "i1";
    default:
      throw Error(Code::kUsage, fmt::format("StableHLO has no type for {}", NameOf(dtype)));
  }
}

// The nearest integer of the dtype. Compares before it casts: in C++ the cast of a double that is
// out of range is undefined.
std::string WholeNumberOf(DType dtype, double value) {
  std::string text;
  DispatchDType(dtype, [&]<class T>() {
    if constexpr (std::is_integral_v<T>) {
      using Limits = std::numeric_limits<T>;
      T number = Limits::min();
      if (value >= static_cast<double>(Limits::max())) {
        number = Limits::max();
      } else if (value > static_cast<double>(Limits::min())) {
        number = static_cast<T>(value);
      }
      text = fmt::format("{}", +number);
    }
  });
  return text;
}

// A number as text that MLIR reads back bit by bit: 18 digits identify any double; NaN and
// infinities are written as their bits because MLIR has no literals for them.
std::string NumberOf(DType dtype, double value) {
  if (dtype == DType::kBool) return value != 0 ? "true" : "false";
  if (!IsFloating(dtype)) return WholeNumberOf(dtype, value);
  if (std::isfinite(value)) return fmt::format("{:.17e}", value);
  switch (dtype) {
    case DType::kDouble:
      return fmt::format("0x{:016X}", std::bit_cast<uint64_t>(value));
    case DType::kBfloat16:
      return fmt::format("0x{:04X}", std::bit_cast<uint32_t>(static_cast<float>(value)) >> 16);
    default:
      return fmt::format("0x{:08X}", std::bit_cast<uint32_t>(static_cast<float>(value)));
  }
}

// 64-bit integers do not pass through double, which has only 53 bits.
std::string ElementText(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DType::kInt64) return fmt::format("{}", tensor.data<int64_t>()[i]);
  if (tensor.dtype() == DType::kUint64) return fmt::format("{}", tensor.data<uint64_t>()[i]);
  return NumberOf(tensor.dtype(), tensor.AsDouble(i));
}

// A dense literal, "[[1, 2], [3, 4]]": `next` counts elements in row-major order.
std::string NestedText(const Tensor& tensor, int axis, int64_t& next) {
  if (axis == tensor.shape().rank()) return ElementText(tensor, next++);
  std::vector<std::string> parts;
  for (int64_t i = 0; i < tensor.shape().dim(axis); ++i) {
    parts.push_back(NestedText(tensor, axis + 1, next));
  }
  return fmt::format("[{}]", Join(parts, ", "));
}

// NumPy's rule. StableHLO's element-wise operations need equal shapes, so broadcasts are explicit.
Shape BroadcastShape(const Shape& x, const Shape& y) {
  const int rank = std::max(x.rank(), y.rank());
  std::vector<int64_t> dims(static_cast<size_t>(rank), 1);
  for (int axis = 1; axis <= rank; ++axis) {
    const int64_t a = axis <= x.rank() ? x.dim(-axis) : 1;
    const int64_t b = axis <= y.rank() ? y.dim(-axis) : 1;
    Check(a == b || a == 1 || b == 1, "shapes {} and {} do not broadcast", x.Text(), y.Text());
    dims[static_cast<size_t>(rank - axis)] = a == 1 ? b : a;
  }
  return Shape(dims);
}

// The text as an MLIR string; escapes non-printable bytes as "\0A".
std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
    quoted += plain ? std::string(1, c) : fmt::format("\\{:02X}", static_cast<unsigned char>(c));
  }
  return quoted + "\"";
}

std::string NamesOf(const std::vector<HloValue>& values) {
  std::vector<std::string> names;
  for (const HloValue& value : values) names.push_back(value.name);
  return Join(names, ", ");
}

std::string TypesOf(const std::vector<HloValue>& values) {
  std::vector<std::string> types;
  for (const HloValue& value : values) types.push_back(HloTypeOf(value));
  return Join(types, ", ");
}

}  // namespace

std::string HloTypeOf(DType dtype, const Shape& shape) {
  std::string text = "tensor<";
  for (const int64_t dim : shape.dims()) text += fmt::format("{}x", dim);
  return text + fmt::format("{}>", ElementOf(dtype));
}

std::string HloArray(const std::vector<int64_t>& values) {
  return values.empty() ? "array<i64>" : fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

std::string HloBuilder::Fresh() { return fmt::format("%{}", next_++); }

// Writes the generic form with explicit types: plugins of other versions parse it, while the pretty
// form may have changed.
HloValue HloBuilder::Op(std::string_view op, const std::vector<HloValue>& operands,
                        std::string_view attrs, std::string_view regions, DType dtype,
                        const Shape& shape) {
  HloValue result{Fresh(), dtype, shape};
  body_ += fmt::format("    {} = \"stablehlo.{}\"({}) {} {} : ({}) -> {}{}\n", result.name, op,
                       NamesOf(operands), regions, attrs, TypesOf(operands), HloTypeOf(result),
                       location_);
  return result;
}

std::vector<HloValue> HloBuilder::OpMany(std::string_view op, const std::vector<HloValue>& operands,
                                         std::string_view attrs, std::string_view regions,
                                         const std::vector<HloValue>& result_types) {
  const std::string name = Fresh();
  std::vector<HloValue> results = result_types;
  for (size_t i = 0; i < results.size(); ++i) results[i].name = fmt::format("{}#{}", name, i);
  body_ += fmt::format("    {}:{} = \"stablehlo.{}\"({}) {} {} : ({}) -> ({}){}\n", name,
                       results.size(), op, NamesOf(operands), regions, attrs, TypesOf(operands),
                       TypesOf(result_types), location_);
  return results;
}

HloValue HloBuilder::Constant(const Tensor& value) {
  int64_t next = 0;
  const std::string elements = value.elements() == 0 ? "" : NestedText(value, 0, next);
  return Op(
      "constant", {},
      fmt::format("{{value = dense<{}> : {}}}", elements, HloTypeOf(value.dtype(), value.shape())),
      "", value.dtype(), value.shape());
}

HloValue HloBuilder::Full(DType dtype, const Shape& shape, double value) {
  return Op(
      "constant", {},
      fmt::format("{{value = dense<{}> : {}}}", NumberOf(dtype, value), HloTypeOf(dtype, shape)),
      "", dtype, shape);
}

HloValue HloBuilder::Iota(DType dtype, const Shape& shape, int64_t axis) {
  return Op("iota", {}, fmt::format("{{iota_dimension = {} : i64}}", axis), "", dtype, shape);
}

HloValue HloBuilder::Unary(std::string_view op, const HloValue& x) {
  return Op(op, {x}, "", "", x.dtype, x.shape);
}

HloValue HloBuilder::Binary(std::string_view op, const HloValue& x, const HloValue& y) {
  const Shape shape = BroadcastShape(x.shape, y.shape);
  return Op(op, {Broadcast(x, shape), Broadcast(y, shape)}, "", "", x.dtype, shape);
}

HloValue HloBuilder::Compare(std::string_view direction, const HloValue& x, const HloValue& y) {
  const Shape shape = BroadcastShape(x.shape, y.shape);
  return Op(
      "compare", {Broadcast(x, shape), Broadcast(y, shape)},
      fmt::format("{{comparison_direction = #stablehlo<comparison_direction {}>}}", direction), "",
      DType::kBool, shape);
}

HloValue HloBuilder::Select(const HloValue& condition, const HloValue& x, const HloValue& y) {
  const Shape shape = BroadcastShape(condition.shape, BroadcastShape(x.shape, y.shape));
  return Op("select", {Broadcast(condition, shape), Broadcast(x, shape), Broadcast(y, shape)}, "",
            "", x.dtype, shape);
}

HloValue HloBuilder::Convert(const HloValue& x, DType dtype) {
  if (x.dtype == dtype) return x;
  if (dtype == DType::kBool) return Compare("NE", x, FullLike(x, 0));
  return Op("convert", {x}, "", "", dtype, x.shape);
}

HloValue HloBuilder::Reshape(const HloValue& x, const Shape& shape) {
  if (x.shape == shape) return x;
  return Op("reshape", {x}, "", "", x.dtype, shape);
}

HloValue HloBuilder::Broadcast(const HloValue& x, const Shape& shape) {
  if (x.shape == shape) return x;
  std::vector<int64_t> dims;
  for (int axis = 0; axis < x.rank(); ++axis) dims.push_back(shape.rank() - x.rank() + axis);
  return BroadcastInDim(x, shape, dims);
}

HloValue HloBuilder::BroadcastInDim(const HloValue& x, const Shape& shape,
                                    const std::vector<int64_t>& dims) {
  return Op("broadcast_in_dim", {x}, fmt::format("{{broadcast_dimensions = {}}}", HloArray(dims)),
            "", x.dtype, shape);
}

HloValue HloBuilder::Transpose(const HloValue& x, const std::vector<int64_t>& perm) {
  std::vector<int64_t> dims;
  for (const int64_t axis : perm) dims.push_back(x.dim(static_cast<int>(axis)));
  return Op("transpose", {x}, fmt::format("{{permutation = {}}}", HloArray(perm)), "", x.dtype,
            Shape(dims));
}

HloValue HloBuilder::Slice(const HloValue& x, const std::vector<int64_t>& begin,
                           const std::vector<int64_t>& end, const std::vector<int64_t>& strides) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < begin.size(); ++i) {
    dims.push_back((end[i] - begin[i] + strides[i] - 1) / strides[i]);
  }
  return Op("slice", {x},
            fmt::format("{{start_indices = {}, limit_indices = {}, strides = {}}}", HloArray(begin),
                        HloArray(end), HloArray(strides)),
            "", x.dtype, Shape(dims));
}

HloValue HloBuilder::Pad(const HloValue& x, double value, const std::vector<int64_t>& low,
                         const std::vector<int64_t>& high, const std::vector<int64_t>& interior) {
  std::vector<int64_t> dims;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t inner = std::max<int64_t>(x.dim(axis) - 1, 0) * interior[i];
    dims.push_back(low[i] + x.dim(axis) + inner + high[i]);
  }
  return Op("pad", {x, Full(x.dtype, Shape(), value)},
            fmt::format("{{edge_padding_low = {}, edge_padding_high = {}, interior_padding = {}}}",
                        HloArray(low), HloArray(high), HloArray(interior)),
            "", x.dtype, Shape(dims));
}

HloValue HloBuilder::Reverse(const HloValue& x, const std::vector<int64_t>& axes) {
  return Op("reverse", {x}, fmt::format("{{dimensions = {}}}", HloArray(axes)), "", x.dtype,
            x.shape);
}

HloValue HloBuilder::Concatenate(const std::vector<HloValue>& values, int64_t axis) {
  if (values.size() == 1) return values[0];
  Shape shape = values[0].shape;
  int64_t size = 0;
  for (const HloValue& value : values) size += value.dim(static_cast<int>(axis));
  shape.set_dim(static_cast<int>(axis), size);
  return Op("concatenate", values, fmt::format("{{dimension = {} : i64}}", axis), "",
            values[0].dtype, shape);
}

std::string HloBuilder::BinaryRegion(std::string_view op, DType dtype) {
  const std::string type = HloTypeOf(dtype, Shape());
  const std::string a = Fresh();
  const std::string b = Fresh();
  const std::string r = Fresh();
  return fmt::format(
      "({{ ^bb0({1}: {0}, {2}: {0}): {3} = \"stablehlo.{4}\"({1}, {2}) : ({0}, {0}) -> {0} "
      "\"stablehlo.return\"({3}) : ({0}) -> () }})",
      type, a, b, r, op);
}

std::string HloBuilder::SetRegion(DType dtype) {
  const HloValue scalar{"", dtype, Shape()};
  const std::string second = Region({scalar, scalar}, [](const std::vector<HloValue>& values) {
    return std::vector<HloValue>{values[1]};
  });
  return fmt::format("({})", second);
}

std::string HloBuilder::Region(const std::vector<HloValue>& types, const HloFn& fn) {
  std::vector<HloValue> arguments = types;
  std::vector<std::string> texts;
  for (HloValue& argument : arguments) {
    argument.name = Fresh();
    texts.push_back(fmt::format("{}: {}", argument.name, HloTypeOf(argument)));
  }
  std::string outer;
  std::swap(outer, body_);
  const std::string location = location_;
  const std::vector<HloValue> results = fn(arguments);
  location_ = location;
  std::swap(outer, body_);
  return fmt::format("{{ ^bb0({}):\n{}    \"stablehlo.return\"({}) : ({}) -> () }}",
                     Join(texts, ", "), outer, NamesOf(results), TypesOf(results));
}

std::vector<HloValue> HloBuilder::While(const std::vector<HloValue>& state, const HloFn& condition,
                                        const HloFn& body) {
  const std::string regions =
      fmt::format("({}, {})", Region(state, condition), Region(state, body));
  return OpMany("while", state, "", regions, state);
}

std::vector<HloValue> HloBuilder::Sort(const std::vector<HloValue>& x, int64_t axis,
                                       std::string_view direction) {
  std::vector<HloValue> pairs;
  for (const HloValue& value : x) pairs.insert(pairs.end(), 2, {"", value.dtype, Shape()});
  const std::string before = Region(pairs, [&](const std::vector<HloValue>& values) {
    return std::vector<HloValue>{Compare(direction, values[0], values[1])};
  });
  return OpMany("sort", x, fmt::format("{{dimension = {} : i64, is_stable = true}}", axis),
                fmt::format("({})", before), x);
}

void HloBuilder::SetLocation(std::string_view node, const Place& place) {
  location_.clear();
  if (node.empty()) return;
  std::string text = Quoted(node);
  if (place.line > 0) {
    text += fmt::format("({}:{}:{})", Quoted(place.file), place.line, place.column);
  }
  const size_t number = locations_.emplace(std::move(text), locations_.size()).first->second;
  location_ = fmt::format(" loc(#loc{})", number);
}

HloValue HloBuilder::Argument(DType dtype, const Shape& shape, const Partition& partition) {
  argument_locations_.push_back(location_);
  argument_partitions_.push_back(partition);
  arguments_.push_back({fmt::format("%arg{}", arguments_.size()), dtype, shape});
  return arguments_.back();
}

// Cores are numbered along the parts in row-major order: the last dimension varies fastest.
std::string HloBuilder::Attributes(std::string attributes, const Partition& partition) const {
  if (partitions_ > 1) {
    if (!attributes.empty()) attributes += ", ";
    attributes += partition.empty() ? R"(mhlo.sharding = "{replicated}")"
                                    : fmt::format(R"(mhlo.sharding = "{{devices=[{}]<=[{}]}}")",
                                                  fmt::join(partition, ","), partitions_);
  }
  return attributes.empty() ? "" : fmt::format(" {{{}}}", attributes);
}

std::string HloBuilder::Finish(const std::vector<HloValue>& results,
                               const std::vector<int64_t>& aliases) const {
  std::vector<std::string> arguments;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    std::string text = fmt::format("{}: {}", arguments_[i].name, HloTypeOf(arguments_[i]));
    const auto alias = std::find(aliases.begin(), aliases.end(), static_cast<int64_t>(i));
    std::string attributes;
    if (alias != aliases.end()) {
      attributes = fmt::format("tf.aliasing_output = {} : i32", alias - aliases.begin());
    }
    text += Attributes(std::move(attributes), argument_partitions_[i]) + argument_locations_[i];
    arguments.push_back(std::move(text));
  }
  std::string locations;
  for (const auto& [text, number] : locations_) {
    locations += fmt::format("#loc{} = loc({})\n", number, text);
  }
  std::vector<std::string> types;
  for (size_t i = 0; i < results.size(); ++i) {
    const int64_t alias = i < aliases.size() ? aliases[i] : -1;
    const Partition partition =
        alias < 0 ? Partition() : argument_partitions_[static_cast<size_t>(alias)];
    types.push_back(HloTypeOf(results[i]) + Attributes("", partition));
  }
  const std::string of_module = partitions_ > 1
                                    ? fmt::format(
                                          " attributes {{mhlo.num_partitions = {} : i32, "
                                          "mhlo.num_replicas = {} : i32}}",
                                          partitions_, replicas_)
                                    : "";
  return fmt::format(
      "module @tpuest{} {{\n  func.func public @main({}) -> ({}) {{\n{}    return {} : {}\n  "
      "}}\n}}\n{}",
      of_module, Join(arguments, ", "), Join(types, ", "), body_, NamesOf(results),
      TypesOf(results), locations);
}

}  // namespace tpuest
