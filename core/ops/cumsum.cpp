// Running sums along an axis.

#include "core/graph/flops.h"
#include "core/ops/hlo_math.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/reduction.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

void CumsumShape(ShapeContext& context) {
  const Tensor axis = context.Constant(1);
  const Shape& x = context.Input(0);
  if (axis.valid()) {
    const int64_t at = OneNumber(context, axis, "axis");
    if (x.known_rank()) (void)AxisIn(context, at, x.rank());
  }
  context.Output(0, x);
}

// The gradient is the sum from the other end.
void CumsumGrad(GradContext& c) {
  const bool reverse = c.node().Attr<bool>("reverse");
  c.SetDx(0,
          c.graph().Add("Cumsum", {c.Dy(), c.input(1)},
                        {{"exclusive", c.node().Attr<bool>("exclusive")}, {"reverse", !reverse}}));
}

// A tensor as [outer, size, inner]; the sum is along the middle axis.
struct CumsumPlan {
  Buffer x, axis, sums;
  Shape shape;
  bool wide_axis, exclusive, reverse;
};

// bfloat16 is summed in float and rounded when it is stored.
template <class T>
void RunCumsum(const CumsumPlan& plan, const Task& task, const std::string& node) {
  using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
  const int64_t given =
      plan.wide_axis ? *task.At<int64_t>(plan.axis) : *task.At<int32_t>(plan.axis);
  const int64_t axis = NormalAxis(given, plan.shape.rank());
  if (axis < 0 || axis >= plan.shape.rank()) {
    throw Error(Code::kData, fmt::format("Cumsum '{}': axis {} is out of range for rank {}", node,
                                         given, plan.shape.rank()));
  }
  const int64_t size = plan.shape.dim(static_cast<int>(axis));
  int64_t inner = 1;
  for (int d = static_cast<int>(axis) + 1; d < plan.shape.rank(); ++d) inner *= plan.shape.dim(d);
  const int64_t lines = size == 0 ? 0 : plan.shape.elements() / size;
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t begin = line / inner * size * inner + line % inner;
    Wide sum = 0;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t at = begin + (plan.reverse ? size - 1 - i : i) * inner;
      const Wide before = sum;
      sum += ConvertTo<Wide>(task.At<T>(plan.x)[at]);
      task.At<T>(plan.sums)[at] = ConvertTo<T>(plan.exclusive ? before : sum);
    }
  }
}

void PlanCumsum(PlanContext& context) {
  const CumsumPlan plan{.x = context.Input(0),
                        .axis = context.Input(1),
                        .sums = context.Output(0),
                        .shape = context.InputShape(0),
                        .wide_axis = context.InputDType(1) == DType::kInt64,
                        .exclusive = context.Attr<bool>("exclusive"),
                        .reverse = context.Attr<bool>("reverse")};
  const std::string name = context.node().name();
  const auto run = [&]<class T>() {
    context.Run([plan, name](const Task& task) { RunCumsum<T>(plan, task, name); });
  };
  switch (context.OutputDType(0)) {
    case DType::kFloat:
      return run.template operator()<float>();
    case DType::kDouble:
      return run.template operator()<double>();
    case DType::kInt32:
      return run.template operator()<int32_t>();
    case DType::kInt64:
      return run.template operator()<int64_t>();
    default:
      return run.template operator()<bfloat16>();
  }
}

// Returns x shifted by `places` along an axis, towards the end or the beginning, and padded with
// zeros.
HloTerm MovedAlong(const HloTerm& x, int64_t axis, int64_t places, bool to_end) {
  HloBuilder& hlo = x.hlo();
  const auto at = static_cast<size_t>(axis);
  std::vector<int64_t> begin(x.shape().dims().size(), 0);
  std::vector<int64_t> end = x.shape().dims();
  (to_end ? end : begin)[at] += to_end ? -places : places;
  const std::vector<int64_t> ones(begin.size(), 1);
  const std::vector<int64_t> none(begin.size(), 0);
  std::vector<int64_t> filled = none;
  filled[at] = places;
  const HloValue kept = hlo.Slice(x.value(), begin, end, ones);
  return {hlo, hlo.Pad(kept, 0, to_end ? filled : none, to_end ? none : filled, none)};
}

void LowerCumsum(LowerContext& c) {
  HloTerm sums = WideInput(c, 0);
  const int64_t axis = NormalAxis(IntsOfInput(c, 1)[0], sums.shape().rank());
  const int64_t size = sums.shape().dim(static_cast<int>(axis));
  const bool to_end = !c.Attr<bool>("reverse");
  for (int64_t places = 1; places < size; places *= 2) {
    sums = sums + MovedAlong(sums, axis, places, to_end);
  }
  if (c.Attr<bool>("exclusive") && size > 0) sums = MovedAlong(sums, axis, 1, to_end);
  c.Output(0, sums.As(c.OutputDType(0)).value());
}

const OpDef kCumsumOps[] = {
    {.name = "Cumsum",
     .signature = "x: T, axis: Tidx -> out: T; exclusive: bool = false; reverse: bool = false; "
                  "T: bfloat16|float|double|int32|int64; Tidx: int32|int64 = int32",
     .shape = CumsumShape,
     .grad = CumsumGrad,
     .cpu = PlanCumsum,
     .hlo = LowerCumsum,
     .flops = InputFlops},
};

}  // namespace

OpFamily CumsumOps() { return kCumsumOps; }

}  // namespace tpuest::ops
