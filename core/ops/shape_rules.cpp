#include "core/ops/shape_rules.h"

#include <algorithm>

#include "core/graph/gradient.h"
#include "core/ops/array.h"

namespace tpuest::ops {

void FirstInputShape(ShapeContext& context) {
  for (int i = 0; i < context.node().outputs(); ++i) context.Output(i, context.Input(0));
}

void BroadcastShape(ShapeContext& context) {
  Shape result = context.Input(0);
  for (int i = 1; i < context.inputs(); ++i) {
    const std::optional<Shape> both = BroadcastOf(result, context.Input(i));
    if (!both) {
      context.Fail(fmt::format("{} and {} do not broadcast to one shape", result.Text(),
                               context.Input(i).Text()));
    }
    result = *both;
  }
  context.Output(0, result);
}

void SameInputsShape(ShapeContext& context) {
  Shape result = context.Input(0);
  for (int i = 1; i < context.inputs(); ++i) {
    const std::optional<Shape> both = MergeOf(result, context.Input(i));
    if (!both) {
      context.Fail(fmt::format("inputs must have the same shape, found {} and {}", result.Text(),
                               context.Input(i).Text()));
    }
    result = *both;
  }
  context.Output(0, result);
}

void ScalarShape(ShapeContext& context) {
  for (int i = 0; i < context.node().outputs(); ++i) context.Output(i, Shape());
}

void NoShape(ShapeContext& /*context*/) {}

std::optional<Shape> BroadcastOf(const Shape& a, const Shape& b) {
  if (!a.known_rank() || !b.known_rank()) return Shape::UnknownRank();
  const Shape& longer = a.rank() >= b.rank() ? a : b;
  const Shape& shorter = a.rank() >= b.rank() ? b : a;
  Shape result = longer;
  for (int back = -1; back >= -shorter.rank(); --back) {
    const int64_t x = longer.dim(back);
    const int64_t y = shorter.dim(back);
    if (x == y || y == 1) continue;
    if (x == 1 || x == kUnknownDim) {
      result.set_dim(back, y);
    } else if (y != kUnknownDim) {
      return std::nullopt;
    }
  }
  return result;
}

std::optional<Shape> MergeOf(const Shape& a, const Shape& b) {
  if (!Compatible(a, b)) return std::nullopt;
  if (!a.known_rank()) return b;
  if (!b.known_rank()) return a;
  Shape result = a;
  for (int d = 0; d < a.rank(); ++d) {
    if (a.dim(d) == kUnknownDim) result.set_dim(d, b.dim(d));
  }
  return result;
}

int64_t AxisIn(const ShapeContext& context, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    context.Fail(fmt::format("axis {} is out of range for rank {}", axis, rank));
  }
  return NormalAxis(axis, rank);
}

void NeedRank(const ShapeContext& context, const Shape& shape, int rank, const char* what) {
  if (shape.known_rank() && shape.rank() != rank) {
    context.Fail(fmt::format("{} must have rank {}, found {}", what, rank, shape.Text()));
  }
}

std::vector<int64_t> NeedConstant(const Node& node, int input) {
  const Tensor value = ConstantValue(node.input(input));
  if (!value.valid()) {
    throw Error(Code::kUsage,
                fmt::format("{} '{}': input {} must be known from constants and shapes",
                            node.type(), node.name(), input))
        .At(node.origin());
  }
  return IntsOf(value);
}

int64_t OneNumber(const ShapeContext& context, const Tensor& value, const char* what) {
  if (value.elements() != 1) {
    context.Fail(fmt::format("{} must be one number, found {}", what, value.shape().Text()));
  }
  return IntsOf(value)[0];
}

std::vector<int64_t> IntsOf(const Tensor& tensor) {
  const Tensor wide = tensor.Cast(DType::kInt64);
  const std::span<const int64_t> values = wide.values<int64_t>();
  return {values.begin(), values.end()};
}

namespace {

// The dimensions that a scalar or vector of integers describes: kUnknownDim for an unknown one,
// nullopt if their number is unknown. Visits a limited number of nodes, because nested Pack ops
// that share inputs would take exponential time.
class ShapeParts {
 public:
  std::optional<std::vector<int64_t>> Of(Value value) {
    if (--left_ < 0) return std::nullopt;
    value = BehindIdentities(value);
    if (const Tensor constant = ConstantValue(value); constant.valid()) return IntsOf(constant);
    const Node& node = *value.node;
    if (node.type() == "Shape" && node.input(0).shape().known_rank()) {
      return node.input(0).shape().dims();
    }
    if (node.type() == "Cast") return Of(node.input(0));
    if (node.type() == "StridedSlice") {
      if (auto parts = OfSlice(node)) return parts;
    }
    if (node.type() == "Pack" && node.input(0).shape() == Shape()) {
      return OfJoined(node, node.inputs().size());
    }
    if (node.type() == "ConcatV2") {
      if (auto parts = OfJoined(node, node.inputs().size() - 1)) return parts;
    }
    const Shape& shape = value.shape();
    if (!shape.fully_known() || shape.rank() > 1) return std::nullopt;
    if (shape.elements() > kMostRank) return std::nullopt;
    return std::vector<int64_t>(static_cast<size_t>(shape.elements()), kUnknownDim);
  }

 private:
  static constexpr int kMostRank = 254;  // TensorFlow's limit

  std::optional<std::vector<int64_t>> OfSlice(const Node& node) {
    const auto parts = Of(node.input(0));
    const Tensor begin = ConstantValue(node.input(1));
    const Tensor end = ConstantValue(node.input(2));
    const Tensor strides = ConstantValue(node.input(3));
    if (!parts || !begin.valid() || !end.valid() || !strides.valid()) return std::nullopt;
    const bool is_range = begin.elements() == 1 && end.elements() == 1 && strides.elements() == 1;
    if (!is_range || strides.AsDouble(0) != 1) return std::nullopt;
    if (node.Attr<int64_t>("new_axis_mask") != 0 || node.Attr<int64_t>("ellipsis_mask") != 0) {
      return std::nullopt;
    }
    const auto size = static_cast<int64_t>(parts->size());
    const auto clamp = [size](int64_t at) {
      return std::clamp<int64_t>(NormalAxis(at, size), 0, size);
    };
    int64_t from = clamp(IntsOf(begin)[0]);
    int64_t to = clamp(IntsOf(end)[0]);
    if (node.Attr<int64_t>("begin_mask") & 1) from = 0;
    if (node.Attr<int64_t>("end_mask") & 1) to = size;
    if (node.Attr<int64_t>("shrink_axis_mask") & 1) to = from + 1;
    if (from > to || to > size) return std::nullopt;
    return std::vector<int64_t>(parts->begin() + from, parts->begin() + to);
  }

  std::optional<std::vector<int64_t>> OfJoined(const Node& node, size_t count) {
    std::vector<int64_t> joined;
    for (size_t i = 0; i < count; ++i) {
      const auto parts = Of(node.inputs()[i]);
      if (!parts) return std::nullopt;
      joined.insert(joined.end(), parts->begin(), parts->end());
    }
    return joined;
  }

  int left_ = 1000;
};

}  // namespace

Shape ShapeFromValue(Value value) {
  auto parts = ShapeParts().Of(value);
  return parts ? Shape(std::move(*parts)) : Shape::UnknownRank();
}

int64_t LinesOf(const Shape& shape) {
  const int64_t length = shape.dim(-1);
  return length == 0 ? 0 : shape.elements() / length;
}

Shape SizesFromInput(const ShapeContext& context, int i) {
  if (const Tensor known = context.Constant(i); known.valid()) {
    const std::vector<int64_t> sizes = IntsOf(known);
    if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; })) {
      context.Fail(fmt::format("{} is [{}], expected sizes of at least 0",
                               context.node().signature().inputs[static_cast<size_t>(i)].name,
                               fmt::join(sizes, ",")));
    }
  }
  return ShapeFromValue(context.node().input(i));
}

void NeedInGraph(const GradContext& c, bool known, std::string_view what) {
  if (known) return;
  throw Error(Code::kUsage,
              fmt::format("{} '{}': its gradient needs {}, which the graph does not determine",
                          c.node().type(), c.node().name(), what))
      .At(c.node().origin());
}

std::vector<Value> GradientsOrZeros(const GradContext& c) {
  std::vector<Value> gradients;
  for (int i = 0; i < c.node().outputs(); ++i) {
    gradients.push_back(c.Dy(i).valid() ? c.Dy(i) : ZerosLike(c.output(i)));
  }
  return gradients;
}

Rows KeepsFirstAxis(RowContext& context) {
  if (!context.IsCut(0)) return Rows::kWhole;
  const Shape& out = context.Output(0);
  return out.rank() > 0 && out.dim(0) == context.batch_rows() ? Rows::kEach : Rows::kWhole;
}

Rows AllCut(RowContext& context, int first, int last) {
  for (int i = first; i <= last; ++i) {
    if (context.IsCut(i)) continue;
    const Shape& shape = context.Input(i);
    if (shape.rank() == 0 || shape.dim(0) != context.batch_rows()) return Rows::kWhole;
    context.Cut(i);
  }
  return Rows::kEach;
}

void AllowInPlaceOfSame(PlanContext& context) {
  const DType dtype = context.OutputDType(0);
  for (int i = 0; i < context.inputs(); ++i) {
    if (context.InputDType(i) == dtype && context.InputShape(i) == context.OutputShape(0)) {
      context.AllowInPlace(0, i);
    }
  }
}

void PlanAlias(PlanContext& context) { context.Alias(0, 0); }

}  // namespace tpuest::ops
