#include <doctest/doctest.h>

#include "core/backend/hlo/builder.h"

namespace tpuest {
namespace {

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("operations and arguments carry the node they are of, and its place") {
  HloBuilder hlo;
  hlo.SetLocation("dense/kernel", {"job.yaml", 7, 3});
  const HloValue kernel = hlo.Argument(DType::kFloat, Shape({2}));
  hlo.SetLocation("dense/Mul", {"a \"job\".yaml", 12, 5});
  const HloValue product = hlo.Binary("multiply", kernel, kernel);
  hlo.SetLocation("Sum", {});
  const HloValue sum = hlo.Binary("add", product, product);
  hlo.SetLocation("dense/Mul", {"a \"job\".yaml", 12, 5});
  const HloValue again = hlo.Unary("negate", sum);
  hlo.SetLocation("", {});
  const HloValue last = hlo.Unary("abs", again);
  const std::string text = hlo.Finish({last}, {0});
  CHECK(Contains(text, "%arg0: tensor<2xf32> {tf.aliasing_output = 0 : i32} loc(#loc0)"));
  CHECK(Contains(text,
                 "\"stablehlo.multiply\"(%arg0, %arg0)   : (tensor<2xf32>, tensor<2xf32>) -> "
                 "tensor<2xf32> loc(#loc1)\n"));
  CHECK(Contains(text, "-> tensor<2xf32> loc(#loc2)\n"));
  CHECK(Contains(text, "\"stablehlo.negate\"(%1)   : (tensor<2xf32>) -> tensor<2xf32> loc(#loc1)"));
  CHECK(Contains(text, "\"stablehlo.abs\"(%2)   : (tensor<2xf32>) -> tensor<2xf32>\n"));
  CHECK(Contains(text, "#loc0 = loc(\"dense/kernel\"(\"job.yaml\":7:3))\n"));
  CHECK(Contains(text, "#loc1 = loc(\"dense/Mul\"(\"a \\22job\\22.yaml\":12:5))\n"));
  CHECK(Contains(text, "#loc2 = loc(\"Sum\")\n"));
}

TEST_CASE(
    "a module of several cores states the partition of its arguments, and sums only over "
    "replicas") {
  HloBuilder hlo(MatmulPrecision::kDefault, 2, 4);
  const HloValue image = hlo.Argument(DType::kFloat, Shape({8, 6}), {1, 4});
  const HloValue rate = hlo.Argument(DType::kFloat, Shape());
  const HloValue sum = hlo.AllReduceSum(hlo.Reduce("add", image, {0, 1}, 0), 2);
  const std::string text = hlo.Finish({hlo.Binary("multiply", sum, rate)}, {1});
  CHECK(Contains(text,
                 "module @tpuest attributes {mhlo.num_partitions = 4 : i32, "
                 "mhlo.num_replicas = 2 : i32} {"));
  CHECK(Contains(text, "%arg0: tensor<8x6xf32> {mhlo.sharding = \"{devices=[1,4]<=[4]}\"}"));
  CHECK(Contains(text,
                 "%arg1: tensor<f32> {tf.aliasing_output = 0 : i32, mhlo.sharding = "
                 "\"{replicated}\"}"));
  CHECK(Contains(text, "-> (tensor<f32> {mhlo.sharding = \"{replicated}\"}) {"));
  CHECK(Contains(text, "{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}"));
  CHECK_FALSE(Contains(text, "channel_handle"));
}

TEST_CASE("operations in a region also carry their node") {
  HloBuilder hlo;
  const HloValue start = hlo.Argument(DType::kFloat, Shape());
  hlo.SetLocation("loop", {"job.yaml", 2, 1});
  const std::vector<HloValue> end = hlo.While(
      {start},
      [&](const std::vector<HloValue>& state) {
        return std::vector{hlo.Compare("LT", state[0], hlo.FullLike(state[0], 3))};
      },
      [&](const std::vector<HloValue>& state) {
        hlo.SetLocation("step", {"job.yaml", 5, 1});
        return std::vector{hlo.Unary("exponential", state[0])};
      });
  const std::string text = hlo.Finish(end);
  CHECK(Contains(text, "-> tensor<i1> loc(#loc0)\n"));
  CHECK(Contains(text, "\"stablehlo.exponential\""));
  CHECK(Contains(text, "-> tensor<f32> loc(#loc1)\n"));
}

}  // namespace
}  // namespace tpuest
