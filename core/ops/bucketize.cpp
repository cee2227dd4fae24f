// Maps numbers to the intervals that contain them.

#include <algorithm>
#include <cmath>

#include "core/ops/elementwise.h"
#include "core/ops/elementwise_hlo.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value Bucketize(Value x, const std::vector<double>& boundaries, std::string_view name) {
  std::vector<float> floats;
  for (const double boundary : boundaries) floats.push_back(static_cast<float>(boundary));
  return x.graph().Add("Bucketize", {x}, {{"boundaries", floats}}, name);
}

namespace {

void BucketizeShape(ShapeContext& context) {
  const auto& boundaries = context.node().Attr<std::vector<float>>("boundaries");
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
    context.Fail(
        fmt::format("boundaries [{}] are not in increasing order", fmt::join(boundaries, ", ")));
  }
  FirstInputShape(context);
}

void PlanBucketize(PlanContext& context) {
  const auto boundaries = context.Attr<std::vector<float>>("boundaries");
  const Buffer x = context.Input(0);
  const Buffer y = context.Output(0);
  const int64_t n = context.OutputShape(0).elements();
  const auto run = [&]<class T>() {
    context.Run([=](const Task& task) {
      const T* const values = task.At<const T>(x);
      int32_t* const buckets = task.At<int32_t>(y);
      for (int64_t i = 0; i < n; ++i) {
        const auto above = std::upper_bound(boundaries.begin(), boundaries.end(), values[i],
                                            [](T value, float b) { return value < b; });
        buckets[i] = static_cast<int32_t>(above - boundaries.begin());
      }
    });
  };
  switch (context.InputDType(0)) {
    case DType::kFloat:
      return run.operator()<float>();
    case DType::kDouble:
      return run.operator()<double>();
    case DType::kInt32:
      return run.operator()<int32_t>();
    default:
      return run.operator()<int64_t>();
  }
}

const OpDef kBucketOps[] = {
    {.name = "Bucketize",
     .signature = "input: T -> output: int32; T: int32|int64|float|double; boundaries: list(float)",
     .shape = BucketizeShape,
     .grad = NoGradient,
     .cpu = PlanBucketize,
     .hlo = LowerBucketize,
     .rows = FirstInputRows},
};

}  // namespace

OpFamily BucketOps() { return kBucketOps; }

}  // namespace tpuest::ops
