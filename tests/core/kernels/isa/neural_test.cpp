#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "core/kernels/isa/activation.h"
#include "core/kernels/isa/batch_norm.h"
#include "core/kernels/isa/bias.h"
#include "core/kernels/isa/optimizer.h"
#include "tests/core/kernels/compare.h"

namespace tpuest {
namespace {

constexpr DType kDTypes[] = {DType::kFloat, DType::kDouble, DType::kBfloat16};

std::vector<double> Values(const Tensor& tensor) {
  const Tensor wide = tensor.Cast(DType::kDouble);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

std::vector<double> Apply(Activation activation, DType dtype, const std::vector<float>& x) {
  const auto n = static_cast<int64_t>(x.size());
  Tensor y = Tensor::Of<float>({n}, x).Cast(dtype);
  FindActivation(activation, dtype)(y.raw(), y.raw(), x.size(), 0.25F);
  return Values(y);
}

std::vector<double> Grad(Activation activation, DType dtype, const std::vector<float>& at) {
  const auto n = static_cast<int64_t>(at.size());
  Tensor dy = Tensor::Of<float>({n}, std::vector<float>(at.size(), 2.0F)).Cast(dtype);
  const Tensor where = Tensor::Of<float>({n}, at).Cast(dtype);
  FindActivationGrad(activation, dtype)(dy.raw(), where.raw(), dy.raw(), at.size(), 0.25F);
  return Values(dy);
}

TEST_CASE("what a centred RMSProp divides by is known to be large enough, or not") {
  const RMSPropRates<float> rates{.lr = 0.1F, .rho = 0.9F, .momentum = 0, .epsilon = 1e-10F};
  const auto has_variance = [&](float mg, float ms, float grad) {
    // Long enough for vectors and a remainder; the last element differs from the others.
    std::vector<float> of_mg(35, 0), of_ms(35, 1), of_grad(35, 0.5F);
    of_mg.back() = mg;
    of_ms.back() = ms;
    of_grad.back() = grad;
    return HasVariance<float>(of_mg.data(), of_ms.data(), of_grad.data(), 35, rates,
                              {.least = 1e-20F, .part = 1e-6F});
  };
  CHECK(has_variance(0, 1, 1));
  CHECK(has_variance(0, 0, 0));   // only epsilon remains
  CHECK(!has_variance(1, 1, 1));  // the gradient is always the same: only rounding remains
  CHECK(!has_variance(2, 1, 1));  // below 0
  CHECK(!has_variance(0, 1, std::numeric_limits<float>::quiet_NaN()));
  CHECK(!has_variance(0, 1, std::numeric_limits<float>::infinity()));
}

TEST_CASE("activations made of straight lines") {
  using V = std::vector<double>;
  for (const DType dtype : kDTypes) {
    CHECK(Apply(Activation::kRelu, dtype, {-2, 0, 0.5, 7}) == V{0, 0, 0.5, 7});
    CHECK(Grad(Activation::kRelu, dtype, {-2, 0, 0.5, 7}) == V{0, 0, 2, 2});
    CHECK(Apply(Activation::kRelu6, dtype, {-2, 0, 0.5, 7}) == V{0, 0, 0.5, 6});
    CHECK(Grad(Activation::kRelu6, dtype, {-2, 0, 0.5, 6}) == V{0, 0, 2, 0});
    CHECK(Apply(Activation::kLeakyRelu, dtype, {-2, 0, 0.5, 7}) == V{-0.5, 0, 0.5, 7});
    CHECK(Grad(Activation::kLeakyRelu, dtype, {-2, 0, 0.5, 7}) == V{0.5, 0.5, 2, 2});
    CHECK(Apply(Activation::kSoftsign, dtype, {-1, 0, 3}) == V{-0.5, 0, 0.75});
    CHECK(Grad(Activation::kSoftsign, dtype, {-1, 0, 3}) == V{0.5, 2, 0.125});
  }
}

TEST_CASE("ReLU keeps NaN and drops both infinities' worse half") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const DType dtype : kDTypes) {
    const auto y = Apply(Activation::kRelu, dtype,
                         {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity});
    CHECK(std::isnan(y[0]));
    CHECK(y[1] == std::numeric_limits<double>::infinity());
    CHECK(y[2] == 0);
    const auto dx = Grad(Activation::kRelu, dtype, {infinity, -infinity, -0.0F});
    CHECK(dx == std::vector<double>{2, 0, 0});
  }
}

TEST_CASE("activations made of exponentials") {
  const double x = -0.75;
  const auto at = [&](Activation a) { return Apply(a, DType::kDouble, {-0.75F, 2.0F}); };
  CHECK(at(Activation::kElu)[0] == doctest::Approx(std::exp(x) - 1));
  CHECK(at(Activation::kElu)[1] == 2);
  CHECK(at(Activation::kSelu)[0] ==
        doctest::Approx(1.0507009873554805 * 1.6732632423543772 * (std::exp(x) - 1)));
  CHECK(at(Activation::kSelu)[1] == doctest::Approx(2 * 1.0507009873554805));
  CHECK(at(Activation::kSoftplus)[0] == doctest::Approx(std::log(1 + std::exp(x))));
  CHECK(Apply(Activation::kSoftplus, DType::kFloat, {200, -200})[0] == 200);
  CHECK(Apply(Activation::kSoftplus, DType::kFloat, {200, -200})[1] == 0);
}

TEST_CASE("a bias is added to every row, and its gradient is their sum") {
  for (const DType dtype : kDTypes) {
    const Tensor x = Tensor::Of<float>({3, 2}, {1, 2, 3, 4, 5, 6}).Cast(dtype);
    const Tensor bias = Tensor::Of<float>({2}, {10, 20}).Cast(dtype);
    Tensor y(dtype, {3, 2});
    FindBias(dtype)(x.raw(), bias.raw(), y.raw(), 3, 2);
    CHECK(Values(y) == std::vector<double>{11, 22, 13, 24, 15, 26});
    Tensor sum(dtype, {2});
    FindBiasGrad(dtype, dtype)(x.raw(), sum.raw(), 3, 2);
    CHECK(Values(sum) == std::vector<double>{9, 12});
  }
}

TEST_CASE("a long sum in bfloat16 is added in float") {
  constexpr int64_t kRows = 5000;
  constexpr int64_t kChannels = 70;
  const Tensor dy =
      Tensor::Of<float>({kRows * kChannels}, std::vector<float>(kRows * kChannels, 1.0F))
          .Cast(DType::kBfloat16);
  Tensor sum(DType::kFloat, {kChannels});
  FindBiasGrad(DType::kBfloat16, DType::kFloat)(dy.raw(), sum.raw(), kRows, kChannels);
  CHECK(Values(sum) == std::vector<double>(kChannels, 5000.0));
}

TEST_CASE("batch normalisation of head-checked numbers") {
  // Channel 0 is 1, 3 (mean 2, variance 1), channel 1 is -2, 4 (mean 1, variance 9).
  const std::vector<double> x = {1, -2, 3, 4};
  const std::vector<double> mean = {2, 1};
  const std::vector<double> variance = {1, 9};
  const std::vector<double> scale = {10, 3};
  const std::vector<double> offset = {100, 0};
  const BatchNormKernels norm = FindBatchNorm(DType::kDouble);
  std::vector<double> sum(2);
  norm.sum(x.data(), sum.data(), 2, 2);
  CHECK(sum == std::vector<double>{4, 2});
  norm.centered_square_sum(x.data(), mean.data(), sum.data(), 2, 2);
  CHECK(sum == std::vector<double>{2, 18});
  std::vector<double> y(4);
  norm.apply(x.data(), scale.data(), offset.data(), mean.data(), variance.data(), 0, y.data(), 2,
             2);
  CHECK(y == std::vector<double>{90, -3, 110, 3});
  const std::vector<double> dy = {1, 2, 3, 6};
  std::vector<double> dy_sum(2);
  std::vector<double> dot(2);
  norm.grad_sums(dy.data(), x.data(), mean.data(), variance.data(), 0, dy_sum.data(), dot.data(), 2,
                 2);
  CHECK(dy_sum == std::vector<double>{4, 8});
  CHECK(dot == std::vector<double>{2, 4});
  std::vector<double> dx(4);
  // Two values of a channel are always normalised to -1 and 1, so their gradient is 0.
  norm.grad_apply(dy.data(), x.data(), scale.data(), mean.data(), variance.data(), dy_sum.data(),
                  dot.data(), 0, 2, dx.data(), 2, 2);
  CHECK(dx == std::vector<double>{0, 0, 0, 0});
  norm.grad_apply(dy.data(), x.data(), scale.data(), mean.data(), variance.data(), dy_sum.data(),
                  dot.data(), 0, 0, dx.data(), 2, 2);
  CHECK(dx == std::vector<double>{10, 2, 30, 6});
}

TEST_CASE("statistics of many rows are as good as in double") {
  const Tensor x = Numbers(DType::kFloat, {20000, 3});
  const Tensor wide = x.Cast(DType::kDouble);
  std::vector<float> sum(3);
  std::vector<double> expected(3);
  FindBatchNorm(DType::kFloat).sum(x.raw(), sum.data(), 20000, 3);
  FindBatchNorm(DType::kDouble).sum(wide.raw(), expected.data(), 20000, 3);
  for (size_t c = 0; c < 3; ++c) CHECK(std::abs(sum[c] - expected[c]) < 1e-3);
}

}  // namespace
}  // namespace tpuest
