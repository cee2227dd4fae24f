#include "core/nn/layers/draw.h"

#include "core/ops/array.h"

namespace tpuest::nn {
namespace {

Value Draw(std::string_view op, std::string_view name, Value like, const Seed& seed) {
  constexpr int64_t kGraphSeed = 87654321;  // TensorFlow's, beside an op's own
  Attrs attrs = {{"dtype", DType::kFloat}};
  if (seed) {
    attrs["seed"] = kGraphSeed;
    attrs["seed2"] = *seed;
  }
  return like.graph().Add(op, {ops::ShapeOf(like)}, attrs, name);
}

}  // namespace

Value DrawUniform(Value like, const Seed& seed) {
  return Draw("RandomUniform", "random_uniform", like, seed);
}

Value DrawNormal(Value like, const Seed& seed) {
  return Draw("RandomStandardNormal", "random_normal", like, seed);
}

}  // namespace tpuest::nn
