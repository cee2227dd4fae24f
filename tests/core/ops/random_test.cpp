// Random tensors are pure functions of seed, name, step and element.

#include "core/ops/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/backend/cpu/program.h"
#include "core/base/random.h"
#include "core/kernels/fingerprint.h"
#include "core/ops/array.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

struct Draw {
  int replicas = 1;
  int64_t rows = 100;  // per replica
  uint64_t seed = 7;
  int64_t step = 0;
  std::string name = "noise";
  DType dtype = DType::kFloat;
  int64_t columns = 3;
  bool cut_rows = true;
};

using Builder = Value (*)(Value, DType, std::string_view);

// All replicas' rows of a random tensor of a batch, one after the other.
std::vector<double> Drawn(Builder build, const Draw& draw) {
  Graph graph(TestRegistry());
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, draw.columns}, "x");
  const Value noise = build(ops::ShapeOf(x), draw.dtype, draw.name);
  graph.AddVariable("global_step", DType::kInt64, {}, graph.Scalar<int64_t>(0));
  VariableStore variables;
  variables.Set("global_step", Tensor::Scalar<int64_t>(draw.step));
  const Shape shape{draw.rows, draw.columns};
  const ProgramSpec spec{.graph = &graph, .feeds = {{x, shape, true}}, .fetches = {noise}};
  const CompileOptions options{
      .replicas = draw.replicas, .seed = draw.seed, .cut_rows = draw.cut_rows};
  const auto program = MakeCpuBackend()->Compile(spec, options, variables);
  const StepFeeds feeds = {
      std::vector<Tensor>(static_cast<size_t>(draw.replicas), Tensor(DType::kFloat, shape))};
  std::vector<double> values;
  const std::vector<StepResult> steps = program->Run({&feeds, 1});
  for (const Tensor& part : steps[0].fetches[0]) {
    for (int64_t i = 0; i < part.elements(); ++i) values.push_back(part.AsDouble(i));
  }
  return values;
}

const Builder kBuilders[] = {ops::RandomUniform, ops::RandomStandardNormal, ops::TruncatedNormal};

double MeanOf(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double DeviationOf(const std::vector<double>& values) {
  const double mean = MeanOf(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST_CASE("replicas and blocks draw slices of one tensor") {
  for (const Builder build : kBuilders) {
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kBfloat16}) {
      const auto one = Drawn(build, {.rows = 200, .dtype = dtype});
      CHECK(one == Drawn(build, {.rows = 200, .dtype = dtype, .cut_rows = false}));
      CHECK(one == Drawn(build, {.replicas = 2, .rows = 100, .dtype = dtype}));
      CHECK(one == Drawn(build, {.replicas = 8, .rows = 25, .dtype = dtype}));
    }
  }
}

TEST_CASE("seed, step and name each change the numbers") {
  for (const Builder build : kBuilders) {
    const auto one = Drawn(build, {});
    CHECK(one == Drawn(build, {}));
    CHECK(one != Drawn(build, {.seed = 8}));
    CHECK(one != Drawn(build, {.step = 1}));
    CHECK(one != Drawn(build, {.name = "other"}));
  }
}

TEST_CASE("uniform numbers are in [0, 1) and spread evenly") {
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kBfloat16}) {
    const auto values = Drawn(ops::RandomUniform, {.dtype = dtype, .columns = 1000});
    CHECK(*std::min_element(values.begin(), values.end()) >= 0);
    CHECK(*std::max_element(values.begin(), values.end()) < 1);
    CHECK(std::abs(MeanOf(values) - 0.5) < 0.01);
    CHECK(std::abs(DeviationOf(values) - std::sqrt(1 / 12.0)) < 0.01);
  }
}

TEST_CASE("uniform floats are the words of Philox") {
  const auto values = Drawn(ops::RandomUniform, {.rows = 2, .columns = 3});
  const RandomKey key{.seed = 7, .name = Fingerprint64("noise")};
  for (uint64_t i = 0; i < 6; ++i) {
    CHECK(values[i] == static_cast<double>(UniformFloat(Philox(key, 0, i / 4)[i % 4])));
  }
}

TEST_CASE("normal numbers have mean 0 and deviation 1, truncated ones end at 2") {
  const auto normal = Drawn(ops::RandomStandardNormal, {.columns = 1000});
  CHECK(std::abs(MeanOf(normal)) < 0.01);
  CHECK(std::abs(DeviationOf(normal) - 1) < 0.01);
  const auto truncated = Drawn(ops::TruncatedNormal, {.columns = 1000});
  CHECK(std::abs(MeanOf(truncated)) < 0.01);
  // The standard deviation of a normal distribution truncated at two is 0.8796.
  CHECK(std::abs(DeviationOf(truncated) - 0.8796) < 0.01);
  for (const double value : truncated) CHECK(std::abs(value) <= 2);
}

TEST_CASE("integers fill their range and nothing else") {
  Graph graph(TestRegistry());
  const Value numbers = ops::RandomUniformInt(ops::Int32s(graph, {1000}), graph.Scalar(-2),
                                              graph.Scalar(3), "numbers");
  VariableStore variables;
  const ProgramSpec spec{.graph = &graph, .fetches = {numbers}};
  const StepFeeds none;
  const auto program = MakeCpuBackend()->Compile(spec, {}, variables);
  const Tensor drawn = program->Run({&none, 1})[0].fetches[0][0];
  const std::span<const int32_t> values = drawn.values<int32_t>();
  CHECK(std::set<int32_t>(values.begin(), values.end()) == std::set<int32_t>{-2, -1, 0, 1, 2});
}

// Eight numbers of an op with these attributes in a run with seed 7.
struct Seeded {
  std::string name = "noise";
  int64_t seed = 0;
  int64_t seed2 = 0;
  bool seeds_by_name = false;
  uint64_t run_seed = 7;
};
std::vector<double> DrawnBySeed(std::string_view op, const Seeded& seeded) {
  Graph graph(TestRegistry());
  const Value value = graph.Add(
      op, {ops::Int32s(graph, {8})},
      {{"dtype", DType::kFloat}, {"seed", seeded.seed}, {"seed2", seeded.seed2}}, seeded.name);
  VariableStore variables;
  const StepFeeds none;
  const auto program = MakeCpuBackend()->Compile(
      {.graph = &graph, .fetches = {value}},
      {.seed = seeded.run_seed, .seeds_by_name = seeded.seeds_by_name}, variables);
  const Tensor drawn = program->Run({&none, 1})[0].fetches[0][0];
  std::vector<double> values;
  for (int64_t i = 0; i < drawn.elements(); ++i) values.push_back(drawn.AsDouble(i));
  return values;
}

TEST_CASE("ops with one pair of seeds draw the same numbers, whatever their names") {
  constexpr int64_t kLarge = int64_t{1} << 40;
  for (const std::string_view op : {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"}) {
    std::set<std::vector<double>> different;
    const std::vector<std::pair<int64_t, int64_t>> pairs = {
        {87654321, 0}, {87654321, 1}, {87654321, -1}, {87654321, kLarge}, {0, 1}, {1, 0}};
    for (const auto& [seed, seed2] : pairs) {
      const Seeded one{.name = "a", .seed = seed, .seed2 = seed2};
      Seeded other = one;
      other.name = "b";
      CHECK(DrawnBySeed(op, one) == DrawnBySeed(op, other));
      different.insert(DrawnBySeed(op, one));
      other.run_seed = 8;
      different.insert(DrawnBySeed(op, other));
    }
    CHECK(different.size() == 2 * pairs.size());
  }
}

TEST_CASE("an op without seeds draws by its name, and so does one with seeds in an old run") {
  const auto words = [](std::string_view name) {
    std::vector<double> values;
    for (uint64_t i = 0; i < 8; ++i) {
      const RandomKey key{.seed = 7, .name = Fingerprint64(name)};
      values.push_back(static_cast<double>(UniformFloat(Philox(key, 0, i / 4)[i % 4])));
    }
    return values;
  };
  const std::string_view op = "RandomUniform";
  CHECK(DrawnBySeed(op, {.name = "a"}) == words("a"));
  CHECK(DrawnBySeed(op, {.name = "a", .seeds_by_name = true}) == words("a"));
  const Seeded old{.name = "a", .seed = 87654321, .seed2 = -3, .seeds_by_name = true};
  CHECK(DrawnBySeed(op, old) == words("a/87654321/-3"));
}

TEST_CASE("a tensor without a batch axis is the same on every replica") {
  Graph graph(TestRegistry());
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim}, "x");
  const Value noise = ops::RandomUniform(graph, {4}, DType::kFloat);
  VariableStore variables;
  const ProgramSpec spec{.graph = &graph, .feeds = {{x, {2}, true}}, .fetches = {noise, x}};
  const auto program = MakeCpuBackend()->Compile(spec, {.replicas = 2}, variables);
  const StepFeeds feeds = {{Tensor(DType::kFloat, {2}), Tensor(DType::kFloat, {2})}};
  const StepResult result = program->Run({&feeds, 1})[0];
  CHECK(SameBits(result.fetches[0][0], result.fetches[0][1]));
}

}  // namespace
}  // namespace tpuest
