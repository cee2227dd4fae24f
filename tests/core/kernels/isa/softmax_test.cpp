#include "core/kernels/isa/softmax.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/core/kernels/compare.h"

namespace tpuest {
namespace {

TEST_CASE("softmax of head-checked numbers") {
  // Odds of 1 : 3.
  const std::vector<float> x = {0, std::log(3.0F)};
  std::vector<float> y(2);
  FindSoftmax(DType::kFloat).softmax(x.data(), y.data(), 1, 2);
  CHECK(y[0] == doctest::Approx(0.25));
  CHECK(y[1] == doctest::Approx(0.75));
  FindSoftmax(DType::kFloat).log_softmax(x.data(), y.data(), 1, 2);
  CHECK(y[0] == doctest::Approx(std::log(0.25)));
  CHECK(y[1] == doctest::Approx(std::log(0.75)));
}

TEST_CASE("logits of any size give a finite loss") {
  const std::vector<float> x = {1e30F, 0, 88, 89, -1e30F, 0};
  const std::vector<int32_t> labels = {0, 0, 1};
  std::vector<float> loss(3);
  std::vector<float> dx(6);
  FindSoftmax(DType::kFloat)
      .sparse_loss(x.data(), labels.data(), false, loss.data(), dx.data(), 3, 2);
  CHECK(loss[0] == 0.0F);
  CHECK(loss[1] == doctest::Approx(std::log1p(std::exp(1.0))));
  CHECK(loss[2] == 0.0F);
  CHECK(dx[0] == 0.0F);
  CHECK(dx[2] == doctest::Approx(1 / (1 + std::exp(1.0)) - 1));
}

TEST_CASE("a label that is no class gives NaN in its row only") {
  const std::vector<float> x = {0, 0, 0, 0, 0, 0};
  const std::vector<int64_t> labels = {2, 1, -1};
  std::vector<float> loss(3);
  std::vector<float> dx(6);
  FindSoftmax(DType::kFloat)
      .sparse_loss(x.data(), labels.data(), true, loss.data(), dx.data(), 3, 2);
  CHECK(std::isnan(loss[0]));
  CHECK(loss[1] == doctest::Approx(std::log(2.0)));
  CHECK(std::isnan(loss[2]));
  CHECK(std::isnan(dx[0]));
  CHECK(dx[2] == 0.5F);
  CHECK(std::isnan(dx[5]));
}

TEST_CASE("dense labels that are one-hot give the sparse loss") {
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kBfloat16}) {
    const Tensor x = Numbers(dtype, {3, 4});
    const std::vector<int32_t> labels = {3, 0, 2};
    Tensor one_hot(DType::kFloat, {3, 4});
    for (size_t r = 0; r < 3; ++r) {
      one_hot.data<float>()[4 * r + static_cast<size_t>(labels[r])] = 1;
    }
    one_hot = one_hot.Cast(dtype);
    Tensor loss[2] = {{dtype, {3}}, {dtype, {3}}};
    Tensor dx[2] = {{dtype, {3, 4}}, {dtype, {3, 4}}};
    const SoftmaxKernels softmax = FindSoftmax(dtype);
    softmax.sparse_loss(x.raw(), labels.data(), false, loss[0].raw(), dx[0].raw(), 3, 4);
    softmax.loss(x.raw(), 4, one_hot.raw(), 4, loss[1].raw(), dx[1].raw(), 3, 4);
    CHECK(Distance(loss[0], loss[1]) == 0);
    CHECK(Distance(dx[0], dx[1]) < 1e-7);
  }
}

TEST_CASE("one row of labels serves all rows of logits") {
  const std::vector<double> x = {0, 0, std::log(3.0), 0};
  const std::vector<double> labels = {0.5, 0.5};
  std::vector<double> loss(2);
  std::vector<double> dx(4);
  FindSoftmax(DType::kDouble).loss(x.data(), 2, labels.data(), 0, loss.data(), dx.data(), 2, 2);
  CHECK(loss[0] == doctest::Approx(std::log(2.0)));
  CHECK(loss[1] == doctest::Approx(-0.5 * std::log(0.75) - 0.5 * std::log(0.25)));
  CHECK(dx[2] == doctest::Approx(0.25));
  CHECK(dx[3] == doctest::Approx(-0.25));
}

}  // namespace
}  // namespace tpuest
