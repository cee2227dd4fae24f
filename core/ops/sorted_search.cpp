#include "core/ops/sorted_search.h"

#include <algorithm>
#include <cstdint>

#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value LowerBound(Value sorted_inputs, Value values, DType out_type, std::string_view name) {
  return values.graph().Add("LowerBound", {sorted_inputs, values}, {{"out_type", out_type}}, name);
}

namespace {

void BoundShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 2, "sorted_inputs");
  NeedRank(context, context.Input(1), 2, "values");
  const Shape& lists = context.Input(0);
  const Shape& values = context.Input(1);
  if (lists.known_rank() && values.known_rank() && lists.dim(0) != values.dim(0) &&
      lists.dim(0) != kUnknownDim && values.dim(0) != kUnknownDim) {
    context.Fail(fmt::format("found {} lists for {} lists of values", lists.dim(0), values.dim(0)));
  }
  context.Output(0, values);
}

template <class T, class Place>
void PlanBoundOf(PlanContext& context) {
  const Buffer lists = context.Input(0);
  const Buffer values = context.Input(1);
  const Buffer places = context.Output(0);
  const int64_t count = context.InputShape(0).dim(0);
  const int64_t length = context.InputShape(0).dim(1);
  const int64_t asked = context.InputShape(1).dim(1);
  context.Run([=](const Task& task) {
    const T* list = task.At<const T>(lists);
    const T* value = task.At<const T>(values);
    Place* place = task.At<Place>(places);
    for (int64_t i = 0; i < count; ++i, list += length) {
      for (int64_t k = 0; k < asked; ++k) {
        *place++ = static_cast<Place>(std::lower_bound(list, list + length, *value++) - list);
      }
    }
  });
}

template <class T>
void PlanBoundBy(PlanContext& context) {
  if (context.OutputDType(0) == DType::kInt64) return PlanBoundOf<T, int64_t>(context);
  PlanBoundOf<T, int32_t>(context);
}

void PlanLowerBound(PlanContext& context) {
  switch (context.InputDType(0)) {
    case DType::kFloat:
      return PlanBoundBy<float>(context);
    case DType::kInt32:
      return PlanBoundBy<int32_t>(context);
    default:
      return PlanBoundBy<int64_t>(context);
  }
}

const OpDef kSortedSearchOps[] = {
    {.name = "LowerBound",
     .signature = "sorted_inputs: T, values: T -> output: out_type; T: float|int32|int64; "
                  "out_type: int32|int64 = int32",
     .shape = BoundShape,
     .grad = NoGradient,
     .cpu = PlanLowerBound},
};

}  // namespace

OpFamily SortedSearchOps() { return kSortedSearchOps; }

}  // namespace tpuest::ops
