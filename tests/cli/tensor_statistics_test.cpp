#include "cli/look/inspect/tensor_statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace tpuest::cli {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST_CASE("statistics cover the finite values, and non-finite values are counted") {
  const auto s = StatisticsOf(Tensor::Of<float>({6}, {0, 2, 4, kNan, -kInf, kInf}));
  REQUIRE(s);
  CHECK(s->count == 3);
  CHECK(s->min == 0);
  CHECK(s->max == 4);
  CHECK(s->mean == 2);
  CHECK(s->std == doctest::Approx(std::sqrt(8.0 / 3)));
  CHECK(s->zeros == 1);
  CHECK(s->nans == 1);
  CHECK(s->infs == 2);
}

TEST_CASE("an empty tensor has no values, and strings have no statistics") {
  const auto empty = StatisticsOf(Tensor(DType::kFloat, {0, 4}));
  REQUIRE(empty);
  CHECK(empty->count == 0);
  CHECK(empty->min == 0);
  CHECK_FALSE(StatisticsOf(Tensor::Strings({1}, {"a"})));
  CHECK_FALSE(StatisticsOf(Tensor(DType::kBool, {2})));
}

TEST_CASE("the distance of two tensors is the largest over their elements") {
  const Tensor a = Tensor::Of<float>({3}, {1, 10, 0});
  CHECK(DistanceOf(a, a.Clone()).same_bits);
  const TensorDistance d = DistanceOf(a, Tensor::Of<float>({3}, {1, 8, 0.5F}));
  CHECK_FALSE(d.same_bits);
  CHECK(d.max_abs == 2);
  CHECK(d.max_relative == 1);
  CHECK(d.differ == 2);
}

TEST_CASE("NaN has distance 0 from NaN, and is infinitely far from a number") {
  const Tensor a = Tensor::Of<float>({2}, {kNan, 1});
  CHECK(DistanceOf(a, Tensor::Of<float>({2}, {kNan, 2})).max_abs == 1);
  CHECK(std::isinf(DistanceOf(a, Tensor::Of<float>({2}, {0, 1})).max_abs));
  const TensorDistance strings =
      DistanceOf(Tensor::Strings({2}, {"a", "b"}), Tensor::Strings({2}, {"a", "c"}));
  CHECK(strings.differ == 1);
}

}  // namespace
}  // namespace tpuest::cli
