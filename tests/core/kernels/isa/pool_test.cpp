#include "core/kernels/isa/pool.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/core/kernels/compare.h"

namespace tpuest {
namespace {

constexpr WindowAxis kHalf4 = {.in = 4, .out = 2, .size = 2, .stride = 2};

std::vector<float> FloatsOf(const Tensor& tensor) {
  const Tensor wide = tensor.Cast(DType::kFloat);
  return {wide.values<float>().begin(), wide.values<float>().end()};
}

struct Pooled {
  std::vector<float> y;
  std::vector<float> dx;
};

// Pools an image of one channel and propagates `dy` back, in each dtype; all must agree.
Pooled MaxOf(const WindowAxis& height, const WindowAxis& width, const std::vector<float>& x,
             const std::vector<float>& dy) {
  Pooled first;
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kBfloat16}) {
    const PoolShape shape = {1, height, width, 1};
    const Tensor from = Tensor::Of<float>({height.in * width.in}, x).Cast(dtype);
    const Tensor back = Tensor::Of<float>({height.out * width.out}, dy).Cast(dtype);
    Tensor y(dtype, back.shape());
    Tensor dx(dtype, from.shape());
    const PoolKernels pool = FindPool(dtype);
    pool.max(shape, from.raw(), y.raw());
    pool.max_grad(shape, from.raw(), y.raw(), back.raw(), dx.raw());
    const Pooled pooled = {FloatsOf(y), FloatsOf(dx)};
    if (first.y.empty()) first = pooled;
    CHECK(pooled.y == first.y);
    CHECK(pooled.dx == first.dx);
  }
  return first;
}

TEST_CASE(
    "a pool takes the largest value per square, and the first of equal values gets the gradient") {
  const Pooled pooled = MaxOf(kHalf4, kHalf4,
                              {1, 2, 5, 5,    //
                               4, 3, 5, 5,    //
                               -1, -2, 0, 0,  //
                               -3, -1, 0, 1},
                              {10, 20, 30, 40});
  CHECK(pooled.y == std::vector<float>{4, 5, -1, 1});
  CHECK(pooled.dx == std::vector<float>{0, 0, 20, 0,  //
                                        10, 0, 0, 0,  //
                                        30, 0, 0, 0,  //
                                        0, 0, 0, 40});
}

TEST_CASE("with ReLU what is not positive becomes zero, and NaN stays") {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> x = {1,  2,  -1, -2,                      //
                                4,  3,  -5, -0.0F, -1, -2, kNan, 0,  //
                                -3, -1, 0,  1};
  for (const WindowAxis& axis :
       {kHalf4, WindowAxis{.in = 4, .out = 2, .size = 2, .stride = 2, .after = 1}}) {
    for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kBfloat16}) {
      const Tensor from = Tensor::Of<float>({16}, x).Cast(dtype);
      Tensor y(dtype, {4});
      FindPool(dtype).max_relu({1, axis, axis, 1}, from.raw(), y.raw());
      const std::vector<float> pooled = FloatsOf(y);
      CHECK(std::vector<float>(pooled.begin(), pooled.begin() + 3) == std::vector<float>{4, 0, 0});
      CHECK(std::isnan(pooled[3]));
    }
  }
}

TEST_CASE("overlapping windows add what they send to one element") {
  // Windows of 2 at 0, 1, 2 of [1 7 3 3].
  const WindowAxis row = {.in = 1, .out = 1, .size = 1};
  const WindowAxis axis = {.in = 4, .out = 3, .size = 2, .stride = 1};
  const Pooled pooled = MaxOf(row, axis, {1, 7, 3, 3}, {1, 2, 4});
  CHECK(pooled.y == std::vector<float>{7, 7, 3});
  CHECK(pooled.dx == std::vector<float>{0, 3, 4, 0});
}

TEST_CASE("padding is no candidate: SAME over odd sizes keeps negative maxima") {
  const WindowAxis axis = {.in = 3, .out = 2, .size = 2, .stride = 2, .after = 1};
  const Pooled pooled = MaxOf(axis, axis, {-5, -4, -9, -3, -2, -8, -7, -6, -1}, {1, 2, 3, 4});
  CHECK(pooled.y == std::vector<float>{-2, -8, -6, -1});
  CHECK(pooled.dx == std::vector<float>{0, 0, 0, 0, 1, 2, 0, 3, 4});
}

TEST_CASE("a NaN is the maximum at any position") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t at = 0; at < 4; ++at) {
    std::vector<float> x(4, 1.0F);
    x[at] = nan;
    const WindowAxis axis = {.in = 2, .out = 1, .size = 2, .stride = 2};
    float y = 0;
    FindPool(DType::kFloat).max({1, axis, axis, 1}, x.data(), &y);
    CHECK(std::isnan(y));
  }
}

TEST_CASE("squares and windows in general pool alike") {
  // The same image under windows that cover it, and with a column outside all windows.
  constexpr int64_t kChannels = 37;
  const WindowAxis wide = {.in = 5, .out = 2, .size = 2, .stride = 2};
  for (const DType dtype : {DType::kFloat, DType::kBfloat16}) {
    const Tensor x = Numbers(dtype, {3, 4, 4, kChannels});
    Tensor padded(dtype, {3, 4, 5, kChannels});
    const size_t row = 4 * kChannels * SizeOf(dtype);
    for (size_t i = 0; i < 12; ++i) {
      std::memcpy(static_cast<char*>(padded.raw()) + i * row / 4 * 5,
                  static_cast<const char*>(x.raw()) + i * row, row);
    }
    const PoolKernels pool = FindPool(dtype);
    const Tensor dy = Numbers(dtype, {3, 2, 2, kChannels}, 3);
    Tensor y(dtype, dy.shape());
    Tensor dx(dtype, x.shape());
    pool.max({3, kHalf4, kHalf4, kChannels}, x.raw(), y.raw());
    pool.max_grad({3, kHalf4, kHalf4, kChannels}, x.raw(), y.raw(), dy.raw(), dx.raw());
    Tensor y2(dtype, dy.shape());
    Tensor dx2(dtype, padded.shape());
    pool.max({3, kHalf4, wide, kChannels}, padded.raw(), y2.raw());
    pool.max_grad({3, kHalf4, wide, kChannels}, padded.raw(), y2.raw(), dy.raw(), dx2.raw());
    CHECK(SameBits(y, y2));
    for (size_t i = 0; i < 12; ++i) {
      CHECK(std::memcmp(static_cast<char*>(dx2.raw()) + i * row / 4 * 5,
                        static_cast<char*>(dx.raw()) + i * row, row) == 0);
    }
  }
}

TEST_CASE("an average counts what the window covers, not the padding") {
  const WindowAxis axis = {.in = 3, .out = 2, .size = 2, .stride = 2, .after = 1};
  const PoolShape shape = {1, axis, axis, 1};
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kBfloat16}) {
    const Tensor x = Tensor::Of<float>({9}, {1, 2, 3, 4, 5, 6, 7, 8, 9}).Cast(dtype);
    const Tensor dy = Tensor::Of<float>({4}, {4, 8, 12, 16}).Cast(dtype);
    Tensor y(dtype, {4});
    Tensor dx(dtype, {9});
    FindPool(dtype).average(shape, x.raw(), y.raw());
    FindPool(dtype).average_grad(shape, dy.raw(), dx.raw());
    CHECK(FloatsOf(y) == std::vector<float>{3, 4.5, 7.5, 9});
    CHECK(FloatsOf(dx) == std::vector<float>{1, 1, 4, 1, 1, 4, 6, 6, 16});
  }
}

}  // namespace
}  // namespace tpuest
