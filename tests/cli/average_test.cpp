// The mean of checkpoints.

#include <doctest/doctest.h>

#include "cli/many/checkpoint_average.h"
#include "tests/temporary_folder.h"

namespace tpuest::cli {
namespace {

std::string Write(const TemporaryFolder& folder, int64_t step, float kernel, int64_t count) {
  std::string prefix = folder.File("model.ckpt-" + std::to_string(step));
  const Tensor slot = Tensor::Of<float>({1}, {100 * kernel});
  WriteBundle(prefix, {{"global_step", Tensor::Scalar<int64_t>(step)},
                       {"dense/kernel", Tensor::Of<float>({2}, {kernel, -kernel})},
                       {"dense/kernel/Momentum", slot},
                       {"dense/kernel/ExponentialMovingAverage", Tensor::Of<float>({1}, {kernel})},
                       {"half", Tensor::Of<double>({1}, {kernel}).Cast(DType::kBfloat16)},
                       {"beta1_power", Tensor::Scalar<float>(kernel)},
                       {"training/Adam/dense/kernel/m", slot},
                       {"bins", Tensor::Of<int64_t>({1}, {count})}});
  return prefix;
}

const Tensor& Named(const CheckpointAverage& average, const std::string& name) {
  for (const NamedTensor& entry : average.tensors) {
    if (entry.name == name) return entry.tensor;
  }
  FAIL("there is no ", name);
  return average.tensors[0].tensor;
}

TEST_CASE(
    "floats are averaged; integers and the optimizer's state come from the newest checkpoint") {
  const TemporaryFolder folder;
  const std::string newest = Write(folder, 9, 4, 7);
  const CheckpointAverage average =
      AverageCheckpoints({newest, Write(folder, 3, 1, 5), Write(folder, 6, 2.5, 6)});
  CHECK(average.newest() == newest);
  CHECK(average.global_step == 9);
  CHECK(average.averaged == 3);
  CHECK(average.tensors.size() == 8);
  CHECK(Named(average, "global_step").AsDouble(0) == 9);
  CHECK(Named(average, "dense/kernel").AsDouble(0) == 2.5);
  CHECK(Named(average, "dense/kernel").AsDouble(1) == -2.5);
  CHECK(Named(average, "dense/kernel/ExponentialMovingAverage").AsDouble(0) == 2.5);
  CHECK(Named(average, "half").dtype() == DType::kBfloat16);
  CHECK(Named(average, "half").AsDouble(0) == 2.5);
  CHECK(Named(average, "dense/kernel/Momentum").AsDouble(0) == 400);
  CHECK(Named(average, "training/Adam/dense/kernel/m").AsDouble(0) == 400);
  CHECK(Named(average, "beta1_power").AsDouble(0) == 4);
  CHECK(Named(average, "bins").AsDouble(0) == 7);
}

TEST_CASE("the mean is computed in float64, so small steps are not lost beside large weights") {
  const TemporaryFolder folder;
  std::vector<std::string> prefixes;
  const float weight = 16777216;  // 2^24: floats above it are 2 apart, floats below it 1
  for (int i = 0; i < 3; ++i) {
    prefixes.push_back(folder.File("m-" + std::to_string(i)));
    const float value = i == 0 ? weight : weight - 1;
    WriteBundle(prefixes.back(), {{"w", Tensor::Of<float>({1}, {value})}});
  }
  CHECK(Named(AverageCheckpoints(prefixes), "w").AsDouble(0) == weight - 1);
}

TEST_CASE("equal checkpoints are their own mean") {
  const TemporaryFolder folder;
  const std::string one = Write(folder, 1, 0.1F, 1);
  const CheckpointAverage average = AverageCheckpoints({one, one, one});
  CHECK(Named(average, "dense/kernel").AsDouble(0) == static_cast<double>(0.1F));
}

TEST_CASE("every difference between checkpoints is reported") {
  const TemporaryFolder folder;
  const std::string a = folder.File("m-1");
  const std::string b = folder.File("m-2");
  WriteBundle(a, {{"w", Tensor::Of<float>({2}, {1, 2})}, {"only_a", Tensor::Scalar<float>(1)}});
  WriteBundle(b, {{"w", Tensor::Of<float>({1}, {1})},
                  {"only_b", Tensor::Scalar<float>(1)},
                  {"tpuest/goal", Tensor::Scalar<int64_t>(1)}});
  try {
    std::ignore = AverageCheckpoints({a, b});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kCheckpoint);
    REQUIRE(error.faults().size() == 3);
    CHECK(error.faults()[0].message == a + ": has no \"only_b\", which " + b + " has");
    CHECK(error.faults()[1].message == a + ": \"w\" is float32 [2], but float32 [1] in " + b);
    CHECK(error.faults()[2].message == a + ": has \"only_a\", which " + b + " lacks");
  }
}

}  // namespace
}  // namespace tpuest::cli
