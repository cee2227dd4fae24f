#include "core/kernels/gemm.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/core/kernels/compare.h"

namespace tpuest {
namespace {

double GemmDistance(const GemmShape& shape, DType dtype, DType result, bool bias) {
  const auto [rows, inner, columns, transpose_a, transpose_b] = shape;
  const Tensor a = Numbers(dtype, transpose_a ? Shape{inner, rows} : Shape{rows, inner});
  const Tensor b = Numbers(dtype, transpose_b ? Shape{columns, inner} : Shape{inner, columns}, 17);
  const Tensor c = Numbers(dtype, {columns}, 5);
  Tensor y(result, {rows, columns});
  Gemm gemm(shape, dtype, result, bias, /*relu=*/bias, 1);
  Tensor scratch = Bytes(gemm.scratch_bytes());
  gemm.Run(0, a.raw(), b.raw(), bias ? c.raw() : nullptr, y.raw(), scratch.raw());
  const Tensor a2 = a.Cast(DType::kDouble);
  const Tensor b2 = b.Cast(DType::kDouble);
  const Tensor c2 = c.Cast(DType::kDouble);
  Tensor expected(DType::kDouble, y.shape());
  PlainGemm(shape, a2.data<double>(), b2.data<double>(), bias ? c2.data<double>() : nullptr, bias,
            expected.data<double>());
  return Distance(y, expected);
}

TEST_CASE("products by oneDNN are the formula's, transposed or not") {
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const GemmShape sizes : {GemmShape{64, 100, 33}, GemmShape{1, 7, 5}, {3, 1, 1}}) {
        const GemmShape shape = {sizes.rows, sizes.inner, sizes.columns, transpose_a, transpose_b};
        CAPTURE(sizes.rows);
        CAPTURE(transpose_a);
        CAPTURE(transpose_b);
        for (const DType dtype : ProductDTypes()) {
          for (const bool bias : {false, true}) {
            CHECK(GemmDistance(shape, dtype, dtype, bias) < Tolerance(dtype));
          }
          CHECK(GemmDistance(shape, dtype, DType::kFloat, false) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("a product of head-checked numbers") {
  const std::vector<float> a = {1, 2, 3, 4};
  const std::vector<float> b = {10, 20, 30, 40};
  const std::vector<float> bias = {-100, 1};
  std::vector<float> y(4);
  PlainGemm<float>({2, 2, 2}, a.data(), b.data(), nullptr, false, y.data());
  CHECK(y == std::vector<float>{70, 100, 150, 220});
  PlainGemm<float>({2, 2, 2, true, false}, a.data(), b.data(), nullptr, false, y.data());
  CHECK(y == std::vector<float>{100, 140, 140, 200});
  PlainGemm<float>({2, 2, 2, false, true}, a.data(), b.data(), bias.data(), true, y.data());
  CHECK(y == std::vector<float>{0, 111, 10, 251});
}

}  // namespace
}  // namespace tpuest
