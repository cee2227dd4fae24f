#include "core/sharding/tree.h"

#include <doctest/doctest.h>

namespace tpuest {
namespace {

constexpr float kBig = 0x1p24F;  // kBig + 1 rounds back to kBig

float Sum(const std::vector<float>& values) { return TreeSum<float>(values); }

}  // namespace

TEST_CASE("neighbours are added first") {
  CHECK(Sum({kBig, 1, 1, 1}) == kBig + 2);  // (kBig + 1) + (1 + 1)
  CHECK(Sum({1, 1, kBig, 1}) == kBig + 2);  // 2 + kBig
  CHECK(Sum({kBig, -kBig, 1, 1}) == 2);
  CHECK(Sum({1, kBig, -kBig, 1}) == 1);
}

TEST_CASE("an odd value goes up unchanged") {
  CHECK(Sum({1, 2, 3}) == 6);
  CHECK(Sum({kBig, 1, 1}) == kBig);  // (kBig + 1) + 1
  CHECK(Sum({5}) == 5);
  CHECK(Sum({}) == 0);
}

TEST_CASE("a mean divides the tree's sum by the number of values") {
  const std::vector<double> values = {1, 2, 3, 6};
  CHECK(TreeMean<double>(values) == 3);
}

}  // namespace tpuest
