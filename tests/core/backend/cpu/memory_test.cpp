#include "core/backend/cpu/memory.h"

#include <doctest/doctest.h>

#include <numeric>

#include "core/backend/cpu/sum.h"
#include "core/tensor/tensor.h"

namespace tpuest {

TEST_CASE("buffers share memory only if they do not live together") {
  const ArenaLayout layout = LayOut({{100, 0, 1}, {100, 2, 3}, {100, 1, 2}});
  CHECK(layout.offsets[0] == layout.offsets[1]);
  CHECK(layout.offsets[2] != layout.offsets[0]);
  CHECK(layout.bytes == 256);
}

TEST_CASE("the tree of sums pairs neighbours, whatever range is added") {
  // (((a+b)+(c+d))+e): with these numbers another order rounds differently.
  const std::vector<float> values = {1e8F, 1.0F, -1e8F, 1.0F, 1.0F};
  const auto array = [&](int i) -> const void* { return &values[static_cast<size_t>(i)]; };
  float sum = 0;
  TreeSum(DType::kFloat, 5, array, &sum, 0, 1);
  CHECK(sum == ((1e8F + 1.0F) + (-1e8F + 1.0F)) + 1.0F);
}

}  // namespace tpuest
