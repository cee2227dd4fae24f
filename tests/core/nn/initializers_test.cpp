#include "core/nn/initializers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/nn/global_step.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

std::vector<float> Values(const std::string& name, const Shape& shape, const Initializer& init,
                          uint64_t seed = 1) {
  Session session(1, seed);
  return session.Floats(InitialValue(session.graph(), name, DType::kFloat, shape, init));
}

struct Spread {
  double mean = 0;
  double stddev = 0;
  double largest = 0;
};

Spread SpreadOf(const std::vector<float>& values) {
  const auto n = static_cast<double>(values.size());
  Spread spread{.mean = std::accumulate(values.begin(), values.end(), 0.0) / n};
  for (const float value : values) {
    spread.stddev += (value - spread.mean) * (value - spread.mean) / n;
    spread.largest = std::max(spread.largest, std::abs(static_cast<double>(value)));
  }
  spread.stddev = std::sqrt(spread.stddev);
  return spread;
}

TEST_CASE("constants fill the variable") {
  CHECK(Values("w", {2}, ZerosInitializer{}) == std::vector<float>{0, 0});
  CHECK(Values("w", {2}, OnesInitializer{}) == std::vector<float>{1, 1});
  CHECK(Values("w", {1, 2}, ConstantInitializer{0.25}) == std::vector<float>{0.25F, 0.25F});
}

TEST_CASE("values are a function of seed and name") {
  const Initializer init = GlorotUniform{};
  CHECK(Values("a", {8, 8}, init) == Values("a", {8, 8}, init));
  CHECK(Values("a", {8, 8}, init) != Values("b", {8, 8}, init));
  CHECK(Values("a", {8, 8}, init) != Values("a", {8, 8}, init, 2));
}

TEST_CASE("Glorot's uniform limit is the root of 6 over fan in plus fan out") {
  // A kernel 5x5 from 8 to 24 channels: fans 200 and 600.
  const Spread spread = SpreadOf(Values("w", {5, 5, 8, 24}, GlorotUniform{}));
  const double limit = std::sqrt(6.0 / 800);
  CHECK(spread.largest <= limit);
  CHECK(spread.largest > 0.99 * limit);
  CHECK(spread.stddev == doctest::Approx(limit / std::sqrt(3)).epsilon(0.03));
  CHECK(std::abs(spread.mean) < 0.05 * limit);
}

TEST_CASE("He's normal is cut at two standard deviations and has variance 2 over fan in") {
  const Spread spread = SpreadOf(Values("w", {100, 100}, HeNormal{}));
  const double stddev = std::sqrt(2.0 / 100);
  CHECK(spread.stddev == doctest::Approx(stddev).epsilon(0.03));
  CHECK(spread.largest <= 2 * stddev / 0.8796);
}

TEST_CASE("the other named cases have their variance") {
  const Shape shape{50, 150};
  CHECK(SpreadOf(Values("w", shape, GlorotNormal{})).stddev ==
        doctest::Approx(std::sqrt(1.0 / 100)).epsilon(0.03));
  CHECK(SpreadOf(Values("w", shape, HeUniform{})).stddev ==
        doctest::Approx(std::sqrt(2.0 / 50)).epsilon(0.03));
  CHECK(SpreadOf(Values("w", shape, LecunUniform{})).stddev ==
        doctest::Approx(std::sqrt(1.0 / 50)).epsilon(0.03));
  CHECK(SpreadOf(Values("w", shape, LecunNormal{})).stddev ==
        doctest::Approx(std::sqrt(1.0 / 50)).epsilon(0.03));
  const VarianceScaling out{.mode = "fan_out", .distribution = "untruncated_normal"};
  CHECK(SpreadOf(Values("w", shape, out)).stddev ==
        doctest::Approx(std::sqrt(1.0 / 150)).epsilon(0.03));
}

TEST_CASE("plain distributions keep their parameters") {
  const Spread uniform =
      SpreadOf(Values("w", {100, 100}, RandomUniformInitializer{.minval = 1, .maxval = 3}));
  CHECK(uniform.mean == doctest::Approx(2).epsilon(0.01));
  CHECK(uniform.largest < 3);
  const Spread normal =
      SpreadOf(Values("w", {100, 100}, RandomNormalInitializer{.mean = 1, .stddev = 0.5}));
  CHECK(normal.mean == doctest::Approx(1).epsilon(0.02));
  CHECK(normal.stddev == doctest::Approx(0.5).epsilon(0.03));
  const Spread cut = SpreadOf(Values("w", {100, 100}, TruncatedNormalInitializer{}));
  CHECK(cut.largest <= 0.1);
}

TEST_CASE("an error names a variable that does not fit into memory") {
  Session session;
  constexpr int64_t kHuge = int64_t{1} << 40;
  try {
    (void)InitialValue(session.graph(), "table", DType::kFloat, {kHuge, kHuge}, ZerosInitializer{});
    FAIL("2^80 numbers");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kResource);
    CHECK(error.message() ==
          "out of memory for the variable 'table', float32 [1099511627776,1099511627776]");
  }
}

TEST_CASE("there is one global step, an int64 that is not trained") {
  Session session;
  const Variable* const step = GetOrCreateGlobalStep(session.graph());
  CHECK(GetOrCreateGlobalStep(session.graph()) == step);
  CHECK(step->name == "global_step");
  CHECK(step->dtype == DType::kInt64);
  CHECK_FALSE(step->trainable);
}

}  // namespace
}  // namespace tpuest::nn
