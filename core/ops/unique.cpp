// The distinct numbers of a list.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/graph/bound_op.h"
#include "core/ops/array.h"
#include "core/ops/hlo_math.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"
#include "core/ops/unique_numbers.h"

namespace tpuest::ops {

UniqueResult Unique(Value x, DType out_idx, std::string_view name) {
  Node* const node = x.graph().AddNode("Unique", {x}, {{"out_idx", out_idx}}, name);
  return {node->output(0), node->output(1)};
}

namespace {

template <class T>
int64_t CountDistinct(const Tensor& x) {
  std::vector<T> numbers(x.values<T>().begin(), x.values<T>().end());
  std::sort(numbers.begin(), numbers.end());
  return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
}

void UniqueShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 1, "x");
  int64_t distinct = kUnknownDim;
  if (const Tensor x = context.Constant(0); x.valid()) {
    distinct = x.dtype() == DType::kInt64 ? CountDistinct<int64_t>(x) : CountDistinct<int32_t>(x);
  }
  context.Output(0, Shape{distinct});
  context.Output(1, context.Input(0));
}

// y is as long as x, because the number of distinct numbers is known only at run time.
void PaddedShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 1, "x");
  context.Output(0, context.Input(0));
  context.Output(1, context.Input(0));
}

BoundOp BindUnique(const Node& node) {
  BoundOp bound{"_UniquePadded", node.attrs()};
  bound.sizing_inputs = {0};
  return bound;
}

template <class T, class Index>
void PlanUniqueOf(PlanContext& context) {
  const int64_t n = context.InputShape(0).dim(0);
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const Buffer idx = context.Output(1);
  const Buffer table = context.Scratch(UniqueTableBytes(n));
  // If x is a constant, its distinct numbers are counted, and y contains only these.
  const int64_t distinct = context.OutputShape(0).dim(0);
  const bool is_padded = distinct == n;
  const Buffer padded = is_padded ? Buffer() : context.Scratch(static_cast<size_t>(n) * sizeof(T));
  context.Run([=](const Task& task) {
    T* const found = is_padded ? task.At<T>(y) : task.At<T>(padded);
    FindUnique(task.At<const T>(x), n, found, task.At<Index>(idx), task.At<int32_t>(table));
    if (!is_padded) std::copy_n(found, distinct, task.At<T>(y));
  });
}

template <class T>
void PlanUniqueBy(PlanContext& context) {
  if (context.OutputDType(1) == DType::kInt64) return PlanUniqueOf<T, int64_t>(context);
  PlanUniqueOf<T, int32_t>(context);
}

void PlanUnique(PlanContext& context) {
  if (context.InputDType(0) == DType::kInt64) return PlanUniqueBy<int64_t>(context);
  PlanUniqueBy<int32_t>(context);
}

// Sorting x [n] puts equal numbers next to each other, the first occurrence before the others.
// Returns [n]: the position of the first occurrence of each x[i].
HloTerm FirstPlaces(HloBuilder& hlo, const HloValue& x) {
  const int64_t n = x.dim(0);
  const HloValue places = hlo.Iota(DType::kInt32, x.shape, 0);
  const auto sorted = hlo.Sort({x, places}, 0, "LT");
  const HloTerm now(hlo, hlo.Slice(sorted[0], {1}, {n}, {1}));
  const HloTerm before(hlo, hlo.Slice(sorted[0], {0}, {n - 1}, {1}));
  const HloValue begins = hlo.Pad(Differs(now, before).value(), 1, {1}, {0}, {0});
  const HloTerm begin = Where(HloTerm(hlo, begins), HloTerm(hlo, places), 0);
  const HloValue first = hlo.GatherRows(sorted[1], Scan(hlo, "maximum", begin.value(), 0));
  // Restores the order of x.
  return {hlo, hlo.Sort({sorted[1], first}, 0, "LT")[1]};
}

void LowerUnique(LowerContext& c) {
  const HloUnique unique = UniqueNumbers(c.hlo(), c.Input(0));
  c.Output(0, unique.numbers);
  c.Output(1, c.hlo().Convert(unique.places, c.OutputDType(1)));
}

constexpr std::string_view kUniqueSignature =
    "x: T -> y: T, idx: out_idx; T: int32|int64; out_idx: int32|int64 = int32";

const OpDef kUniqueOps[] = {
    {.name = "Unique",
     .signature = kUniqueSignature,
     .shape = UniqueShape,
     .grad = NoGradient,
     .cpu = PlanUnique,
     .bind = BindUnique},
    {.name = "_UniquePadded",
     .signature = kUniqueSignature,
     .shape = PaddedShape,
     .grad = NoGradient,
     .cpu = PlanUnique,
     .hlo = LowerUnique},
};

}  // namespace

// Numbers the first occurrences from 0, in their order.
HloUnique UniqueNumbers(HloBuilder& hlo, const HloValue& x) {
  if (x.dim(0) == 0) return {x, hlo.Convert(x, DType::kInt32)};
  const HloTerm first = FirstPlaces(hlo, x);
  const HloTerm is_first = Equals(first, HloTerm(hlo, hlo.Iota(DType::kInt32, x.shape, 0)));
  const HloTerm count(hlo, Scan(hlo, "add", is_first.As(DType::kInt32).value(), 0));
  const HloTerm number = count - 1;
  const HloTerm row = Where(is_first, number, -1);
  const HloValue none = hlo.FullLike(x, 0);
  const HloValue sum = hlo.ScatterRows("add", none, row.value(), x);
  const HloTerm total(hlo, hlo.Slice(count.value(), {x.dim(0) - 1}, {x.dim(0)}, {1}));
  const HloTerm taken = HloTerm(hlo, hlo.Iota(DType::kInt32, x.shape, 0)) < total;
  return {Where(taken, HloTerm(hlo, sum), -1).value(),
          hlo.GatherRows(number.value(), first.value())};
}

OpFamily UniqueOps() { return kUniqueOps; }

}  // namespace tpuest::ops
