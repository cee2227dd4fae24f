// Positions of the largest and smallest elements.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/hlo_math.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value ArgMax(Value x, int axis, DType output_type, std::string_view name) {
  return x.graph().Add("ArgMax", {x, x.graph().Scalar<int32_t>(axis, "dimension")},
                       {{"output_type", output_type}}, name);
}

Value ArgMin(Value x, int axis, DType output_type, std::string_view name) {
  return x.graph().Add("ArgMin", {x, x.graph().Scalar<int32_t>(axis, "dimension")},
                       {{"output_type", output_type}}, name);
}

TopKResult TopKV2(Value x, int k, std::string_view name) {
  Node* const node = x.graph().AddNode("TopKV2", {x, x.graph().Scalar<int32_t>(k, "k")}, {}, name);
  return {node->output(0), node->output(1)};
}

Value InTopKV2(Value predictions, Value targets, int k, std::string_view name) {
  return predictions.graph().Add(
      "InTopKV2", {predictions, targets, predictions.graph().ScalarOf(targets.dtype(), k, "k")}, {},
      name);
}

namespace {

std::optional<int64_t> RankingAxisOf(const Node& node, int rank) {
  const Tensor axis = ConstantValue(node.input(1));
  if (!axis.valid()) return std::nullopt;
  return NormalAxis(IntsOf(axis)[0], rank);
}

void ArgShape(ShapeContext& context) {
  const Shape& shape = context.Input(0);
  const Tensor value = context.Constant(1);
  if (!shape.known_rank() || !value.valid()) return context.Output(0, Shape::UnknownRank());
  const int64_t axis = AxisIn(context, OneNumber(context, value, "dimension"), shape.rank());
  if (shape.dims()[static_cast<size_t>(axis)] == 0) {
    context.Fail(fmt::format("axis {} of {} is empty", axis, shape.Text()));
  }
  std::vector<int64_t> dims = shape.dims();
  dims.erase(dims.begin() + axis);
  context.Output(0, Shape(dims));
}

Rows ArgRows(RowContext& context) {
  const auto axis = RankingAxisOf(context.node(), context.Input(0).rank());
  return !axis || *axis == 0 ? Rows::kWhole : FirstInputRows(context);
}

template <class T>
auto Comparable(T value) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return static_cast<float>(value);
  } else {
    return value;
  }
}

// The position of the best element along a strided axis; the first one if several are equal.
template <bool max, class T>
int64_t FirstBest(const T* x, int64_t size, int64_t stride) {
  int64_t best = 0;
  for (int64_t i = 1; i < size; ++i) {
    const auto value = Comparable(x[i * stride]);
    const auto record = Comparable(x[best * stride]);
    if (max ? value > record : value < record) best = i;
  }
  return best;
}

template <bool max>
void PlanArg(PlanContext& context) {
  const Shape& shape = context.InputShape(0);
  const auto axis = static_cast<size_t>(RankingAxisOf(context.node(), shape.rank()).value());
  int64_t outer = 1;
  int64_t inner = 1;
  for (size_t d = 0; d < shape.dims().size(); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= shape.dims()[d];
  }
  const int64_t size = shape.dims()[axis];
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const bool wide = context.OutputDType(0) == DType::kInt64;
  const bool known = DispatchDType(context.InputDType(0), [&]<class T>() {
    context.Run([=](const Task& task) {
      for (int64_t i = 0; i < outer * inner; ++i) {
        const T* const line = task.At<T>(x) + i / inner * size * inner + i % inner;
        const int64_t best = FirstBest<max>(line, size, inner);
        if (wide) {
          task.At<int64_t>(y)[i] = best;
        } else {
          task.At<int32_t>(y)[i] = static_cast<int32_t>(best);
        }
      }
    });
  });
  Check(known, "ArgMax of {}", NameOf(context.InputDType(0)));
}

// x in reverse order: its largest element is the smallest of x.
HloTerm Turned(const HloTerm& x) { return IsFloating(x.dtype()) ? -x : Not(x); }

// Replaces NaN by -infinity, which is never the best; NaN at position 0 becomes infinity, which is
// always the best. So the positions equal the kernel's.
HloTerm WithoutNan(const HloTerm& x, const HloTerm& place) {
  if (!IsFloating(x.dtype())) return x;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const HloTerm rank = Where(Equals(place, 0), kInfinity, x.Like(-kInfinity));
  return Where(Differs(x, x), rank, x);
}

template <bool max>
void LowerArg(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const bool truths = c.Input(0).dtype == DType::kBool;
  const HloTerm input = truths ? HloTerm(hlo, c.Input(0)).As(DType::kInt32) : WideInput(c, 0);
  const int64_t axis = NormalAxis(IntsOfInput(c, 1)[0], input.shape().rank());
  const HloTerm place(hlo, hlo.Iota(c.OutputDType(0), input.shape(), axis));
  const HloTerm x = WithoutNan(max ? input : Turned(input), place);
  const double lowest = IsFloating(x.dtype()) ? -std::numeric_limits<double>::infinity()
                        : x.dtype() == DType::kInt64
                            ? static_cast<double>(std::numeric_limits<int64_t>::min())
                            : static_cast<double>(std::numeric_limits<int32_t>::min());
  Shape kept = x.shape();
  kept.set_dim(static_cast<int>(axis), 1);
  const HloTerm best(hlo, hlo.Reshape(hlo.Reduce("maximum", x.value(), {axis}, lowest), kept));
  const auto size = static_cast<double>(x.shape().dim(static_cast<int>(axis)));
  const HloTerm first = Where(Equals(x, best), place, size);
  c.Output(0, hlo.Reduce("minimum", first.value(), {axis}, size));
}

void TopKShape(ShapeContext& context) {
  Shape shape = context.Input(0);
  const Tensor k = context.Constant(1);
  const int64_t first = k.valid() ? OneNumber(context, k, "k") : kUnknownDim;
  if (k.valid() && first < 0) context.Fail(fmt::format("k is {}", first));
  if (shape.known_rank()) {
    if (shape.rank() == 0) context.Fail("the input is a scalar");
    const int64_t size = shape.dim(-1);
    if (size != kUnknownDim && size < first) {
      context.Fail(
          fmt::format("the last axis of {} has fewer than k = {} elements", shape.Text(), first));
    }
    shape.set_dim(-1, first);
  }
  context.Output(0, shape);
  context.Output(1, shape);
}

// Adds dy at the positions of the values: one-hot indices [..., k, n] times dy, summed over k.
void TopKGrad(GradContext& c) {
  if (!c.Dy(0).valid()) return;
  const Value x = c.input(0);
  const int64_t n = x.shape().known_rank() ? x.shape().dim(-1) : kUnknownDim;
  NeedInGraph(c, n != kUnknownDim, "the size of the last axis");
  const Value hot = OneHot(c.output(1), {.depth = static_cast<int>(n), .dtype = x.dtype()});
  c.SetDx(0, Sum(Mul(hot, ExpandDims(c.Dy(0), -1)), {-2}));
}

Rows TopKRows(RowContext& context) {
  return context.Input(0).rank() < 2 ? Rows::kWhole : FirstInputRows(context);
}

template <class T>
void TopK(const T* x, int64_t n, int64_t k, T* values, int32_t* indices, int32_t* order) {
  std::iota(order, order + n, 0);
  std::partial_sort(order, order + k, order + n, [x](int32_t a, int32_t b) {
    const auto left = Comparable(x[a]);
    const auto right = Comparable(x[b]);
    return left > right || (left == right && a < b);
  });
  for (int64_t i = 0; i < k; ++i) {
    values[i] = x[order[i]];
    indices[i] = order[i];
  }
}

void PlanTopK(PlanContext& context) {
  const int64_t n = context.InputShape(0).dim(-1);
  const int64_t k = context.OutputShape(0).dim(-1);
  const int64_t lines = LinesOf(context.InputShape(0));
  const Buffer x = context.Input(0);
  const Buffer values = context.Output(0);
  const Buffer indices = context.Output(1);
  const Buffer order = context.Scratch(static_cast<size_t>(n) * sizeof(int32_t));
  const bool known = DispatchDType(context.InputDType(0), [&]<class T>() {
    context.Run([=](const Task& task) {
      for (int64_t i = 0; i < lines; ++i) {
        TopK(task.At<T>(x) + i * n, n, k, task.At<T>(values) + i * k,
             task.At<int32_t>(indices) + i * k, task.At<int32_t>(order));
      }
    });
  });
  Check(known, "TopKV2 of {}", NameOf(context.InputDType(0)));
}

void LowerTopK(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue x = c.Input(0);
  const int64_t last = x.rank() - 1;
  const auto sorted = hlo.Sort({x, hlo.Iota(DType::kInt32, x.shape, last)}, last, "GT");
  const std::vector<int64_t> zeros(x.shape.dims().size(), 0);
  const std::vector<int64_t> ones(x.shape.dims().size(), 1);
  for (int i = 0; i < 2; ++i) {
    c.Output(i, hlo.Slice(sorted[static_cast<size_t>(i)], zeros, c.OutputShape(i).dims(), ones));
  }
}

void InTopKShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 2, "predictions");
  NeedRank(context, context.Input(1), 1, "targets");
  NeedRank(context, context.Input(2), 0, "k");
  int64_t rows = context.Input(1).known_rank() ? context.Input(1).dim(0) : kUnknownDim;
  if (context.Input(0).known_rank()) {
    const int64_t predicted = context.Input(0).dim(0);
    if (rows != kUnknownDim && predicted != kUnknownDim && rows != predicted) {
      context.Fail(fmt::format("found {} predictions for {} targets", predicted, rows));
    }
    if (rows == kUnknownDim) rows = predicted;
  }
  context.Output(0, Shape({rows}));
}

Rows InTopKRows(RowContext& context) {
  return context.IsCut(2) ? Rows::kWhole : AllCut(context, 0, 1);
}

bool IsInTopK(const float* scores, int64_t classes, int64_t target, int64_t k) {
  if (target < 0 || target >= classes || !std::isfinite(scores[target])) return false;
  int64_t higher = 0;
  for (int64_t i = 0; i < classes; ++i) {
    if (!std::isfinite(scores[i])) return false;
    higher += scores[i] > scores[target] ? 1 : 0;
  }
  return higher < k;
}

void PlanInTopK(PlanContext& context) {
  const int64_t rows = context.InputShape(0).dim(0);
  const int64_t classes = context.InputShape(0).dim(1);
  const Buffer scores = context.Input(0);
  const Buffer targets = context.Input(1);
  const Buffer k = context.Input(2);
  const Buffer out = context.Output(0);
  const bool wide = context.InputDType(1) == DType::kInt64;
  const auto at = [wide](const void* numbers, int64_t i) {
    return wide ? static_cast<const int64_t*>(numbers)[i]
                : int64_t{static_cast<const int32_t*>(numbers)[i]};
  };
  context.Run([=](const Task& task) {
    for (int64_t i = 0; i < rows; ++i) {
      task.At<bool>(out)[i] = IsInTopK(task.At<float>(scores) + i * classes, classes,
                                       at(task.At(targets), i), at(task.At(k), 0));
    }
  });
}

// Computes IsInTopK for [rows, classes].
void LowerInTopK(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloTerm scores(hlo, c.Input(0));
  const int64_t rows = scores.shape().dim(0);
  const HloTerm target(hlo, hlo.Reshape(c.Input(1), Shape({rows, 1})));
  const HloTerm here = Equals(HloTerm(hlo, hlo.Iota(target.dtype(), scores.shape(), 1)), target);
  const auto over_classes = [&](std::string_view op, const HloTerm& x, double init) {
    return HloTerm(hlo, hlo.Reduce(op, x.value(), {1}, init));
  };
  const HloTerm score = over_classes("add", Where(here, scores, 0), 0);
  const HloTerm column(hlo, hlo.Reshape(score.value(), Shape({rows, 1})));
  const HloTerm higher = over_classes("add", (scores > column).As(target.dtype()), 0);
  const HloTerm finite(hlo,
                       hlo.Op("is_finite", {scores.value()}, "", "", DType::kBool, scores.shape()));
  const HloTerm whole = Both(over_classes("and", finite, 1), over_classes("or", here, 0));
  c.Output(0, Both(whole, higher < HloTerm(hlo, c.Input(2))).value());
}

const OpDef kRankingOps[] = {
    {.name = "ArgMax",
     .signature = "input: T, dimension: Tidx -> output: output_type; "
                  "T: bfloat16|float|double|int32|int64|bool; Tidx: int32|int64 = int32; "
                  "output_type: int32|int64 = int64",
     .shape = ArgShape,
     .grad = NoGradient,
     .cpu = PlanArg<true>,
     .hlo = LowerArg<true>,
     .rows = ArgRows},
    {.name = "ArgMin",
     .signature = "input: T, dimension: Tidx -> output: output_type; "
                  "T: bfloat16|float|double|int32|int64|bool; Tidx: int32|int64 = int32; "
                  "output_type: int32|int64 = int64",
     .shape = ArgShape,
     .grad = NoGradient,
     .cpu = PlanArg<false>,
     .hlo = LowerArg<false>,
     .rows = ArgRows},
    {.name = "TopKV2",
     .signature = "input: T, k: Tk -> values: T, indices: index_type; sorted: bool = true; "
                  "T: bfloat16|float|double|int32|int64; Tk: int32|int64 = int32; "
                  "index_type: int32 = int32",
     .shape = TopKShape,
     .grad = TopKGrad,
     .cpu = PlanTopK,
     .hlo = LowerTopK,
     .rows = TopKRows},
    {.name = "InTopKV2",
     .signature = "predictions: float, targets: T, k: T -> precision: bool; "
                  "T: int32|int64 = int32",
     .shape = InTopKShape,
     .grad = NoGradient,
     .cpu = PlanInTopK,
     .hlo = LowerInTopK,
     .rows = InTopKRows},
};

}  // namespace

OpFamily RankingOps() { return kRankingOps; }

}  // namespace tpuest::ops
