#include "core/tensor/tensor.h"

#include <doctest/doctest.h>

#include <cmath>

namespace tpuest {

TEST_CASE("bfloat16 rounds to nearest even and keeps NaN") {
  CHECK(bfloat16(1.0F).bits == 0x3F80);
  CHECK(bfloat16(1.00390625F).bits == 0x3F80);  // halfway, even below
  CHECK(bfloat16(1.01171875F).bits == 0x3F82);  // halfway, even above
  CHECK(std::isnan(static_cast<float>(bfloat16(std::nanf("")))));
}

TEST_CASE("rows share the buffer, a clone does not") {
  Tensor tensor = Tensor::Of<int32_t>({3, 2}, {0, 1, 2, 3, 4, 5});
  Tensor rows = tensor.Rows(1, 3);
  CHECK(rows.shape() == Shape{2, 2});
  rows.data<int32_t>()[0] = 9;
  CHECK(tensor.data<int32_t>()[2] == 9);
  CHECK_FALSE(SameBits(tensor.Clone().Rows(0, 1), rows.Rows(0, 1)));
}

TEST_CASE("a buffer is unshared once copies, rows and reshapes of it are gone") {
  const Tensor tensor(DType::kInt32, {3, 2});
  CHECK(tensor.Unshared());
  {
    const Tensor rows = tensor.Rows(1, 3);
    CHECK_FALSE(tensor.Unshared());
  }
  const Tensor clone = tensor.Clone();
  CHECK(tensor.Unshared());
}

TEST_CASE("shapes print and match with unknown dimensions") {
  CHECK(Shape{kUnknownDim, 10}.Text() == "[?,10]");
  CHECK(Compatible({kUnknownDim, 10}, {32, 10}));
  CHECK_FALSE(Compatible({kUnknownDim, 10}, {32, 11}));
  CHECK(Compatible(Shape::UnknownRank(), {3}));
}

}  // namespace tpuest
