#include "core/nn/layers/draw.h"

#include "core/graph/draw_of_seed.h"
#include "core/ops/array.h"

namespace tpuest::nn {
namespace {

Value Draw(std::string_view op, std::string_view name, Value like, const Seed& seed, int64_t draw) {
  constexpr int64_t kGraphSeed = 87654321;  // TensorFlow's, beside an op's own
  Attrs attrs = {{"dtype", DType::kFloat}};
  if (seed) {
    attrs["seed"] = kGraphSeed;
    attrs["seed2"] = *seed;
    if (draw > 0) attrs[std::string(kDrawOfSeed)] = draw;
  }
  return like.graph().Add(op, {ops::ShapeOf(like)}, attrs, name);
}

}  // namespace

Value DrawUniform(Value like, const Seed& seed, int64_t draw) {
  return Draw("RandomUniform", "random_uniform", like, seed, draw);
}

Value DrawNormal(Value like, const Seed& seed) {
  return Draw("RandomStandardNormal", "random_normal", like, seed, 0);
}

}  // namespace tpuest::nn
