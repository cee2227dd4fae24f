// Batch normalisation in one pass gives the bits of its parts, and depthwise convolution gives the
// same bits in every instruction set.

#include <doctest/doctest.h>

#include <cstring>
#include <vector>

#include "core/kernels/isa/activation.h"
#include "core/kernels/isa/batch_norm.h"
#include "core/kernels/isa/binary.h"
#include "core/kernels/isa/cpu_isa.h"
#include "core/kernels/isa/depthwise.h"
#include "core/kernels/isa/fused_batch_norm.h"
#include "core/kernels/isa/kernel_table.h"
#include "tests/core/kernels/compare.h"

namespace tpuest {
namespace {

constexpr DType kNarrow[] = {DType::kFloat, DType::kBfloat16};
constexpr int64_t kNormRows = 37;
// Fewer than a vector, not a multiple of one, several rows side by side, and more than one run of
// channels.
constexpr int64_t kChannels[] = {3, 16, 37, 64, 300, 1100};

bool HaveSameBits(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

// Numbers that a Relu6 limits partly at either end.
struct Norm {
  Norm(DType dtype, int64_t channels)
      : x(Numbers(dtype, {kNormRows, channels})),
        side(Numbers(dtype, {kNormRows, channels}, 5)),
        dy(Numbers(dtype, {kNormRows, channels}, 11)),
        scale(Tensor::Of<float>({channels}, std::vector<float>(static_cast<size_t>(channels), 9))),
        offset(Numbers(DType::kFloat, {channels}, 2)),
        mean(Numbers(DType::kFloat, {channels}, 3)),
        variance(
            Tensor::Of<float>({channels}, std::vector<float>(static_cast<size_t>(channels), 2))) {}

  [[nodiscard]] NormInputs Inputs() const {
    return {x.raw(),        scale.raw(), offset.raw(), mean.raw(),
            variance.raw(), 1e-3,        kNormRows,    mean.elements()};
  }
  // The normalised x, by itself.
  [[nodiscard]] Tensor Normalised() const {
    Tensor y(x.dtype(), x.shape());
    FindBatchNorm(x.dtype()).apply(x.raw(), scale.raw(), offset.raw(), mean.raw(), variance.raw(),
                                   1e-3, y.raw(), kNormRows, mean.elements());
    return y;
  }

  Tensor x, side, dy, scale, offset, mean, variance;
};

TEST_CASE("a variance from two sums is as exact where the mean is large") {
  for (const int64_t channels : kChannels) {
    Tensor x(DType::kFloat, {kNormRows, channels});
    double deviations = 0;
    for (int64_t r = 0; r < kNormRows; ++r) {
      for (int64_t c = 0; c < channels; ++c) {
        x.data<float>()[r * channels + c] = 100000.0F + static_cast<float>(r % 4);
      }
      deviations += static_cast<double>((r % 4) * (r % 4));
    }
    const double sum = 9 * 6;  // of r % 4 over 37 rows
    std::vector<double> sums(static_cast<size_t>(channels));
    std::vector<double> squares(sums.size());
    FindFusedBatchNorm(DType::kFloat, NormActivation::kNone)
        .moments(x.raw(), sums.data(), squares.data(), kNormRows, channels);
    for (size_t c = 0; c < sums.size(); ++c) {
      CHECK(sums[c] == 100000.0 * kNormRows + sum);
      CHECK(squares[c] - sums[c] * sums[c] / kNormRows ==
            doctest::Approx(deviations - sum * sum / kNormRows).epsilon(1e-5));
    }
  }
}

TEST_CASE("normalisation, addition and activation in one pass have the bits of three") {
  for (const DType dtype : kNarrow) {
    for (const int64_t channels : kChannels) {
      CAPTURE(channels);
      const Norm norm(dtype, channels);
      const auto n = static_cast<size_t>(kNormRows * channels);
      Tensor parts = norm.Normalised();
      FindBinary(Binary::kAdd, dtype)(parts.raw(), norm.side.raw(), parts.raw(),
                                      static_cast<int64_t>(n), 1, 1);
      Tensor plain = norm.Normalised();
      FindActivation(Activation::kRelu6, dtype)(parts.raw(), parts.raw(), n, 0);
      FindActivation(Activation::kRelu, dtype)(plain.raw(), plain.raw(), n, 0);
      Tensor y(dtype, norm.x.shape());
      FindFusedBatchNorm(dtype, NormActivation::kRelu6)
          .apply(norm.Inputs(), norm.side.raw(), y.raw());
      CHECK(HaveSameBits(y, parts));
      FindFusedBatchNorm(dtype, NormActivation::kRelu).apply(norm.Inputs(), nullptr, y.raw());
      CHECK(HaveSameBits(y, plain));
    }
  }
}

TEST_CASE("a gradient is stopped in the pass that reads it as it would be before") {
  for (const DType dtype : kNarrow) {
    for (const int64_t channels : kChannels) {
      CAPTURE(channels);
      const Norm norm(dtype, channels);
      const auto n = static_cast<size_t>(kNormRows * channels);
      Tensor gated = norm.Normalised();
      FindActivation(Activation::kRelu6, dtype)(gated.raw(), gated.raw(), n, 0);
      FindActivationGrad(Activation::kRelu6, dtype)(norm.dy.raw(), gated.raw(), gated.raw(), n, 0);
      const FusedBatchNormKernels fused = FindFusedBatchNorm(dtype, NormActivation::kRelu6);
      const BatchNormKernels plain = FindBatchNorm(dtype);
      Tensor sums[2] = {Tensor(DType::kFloat, {channels}), Tensor(DType::kFloat, {channels})};
      Tensor expected[2] = {Tensor(DType::kFloat, {channels}), Tensor(DType::kFloat, {channels})};
      fused.grad_sums(norm.Inputs(), norm.dy.raw(), sums[0].raw(), sums[1].raw());
      plain.grad_sums(gated.raw(), norm.x.raw(), norm.mean.raw(), norm.variance.raw(), 1e-3,
                      expected[0].raw(), expected[1].raw(), kNormRows, channels);
      for (const int k : {0, 1}) CHECK(Distance(sums[k], expected[k]) < 1e-6);
      Tensor dx(dtype, norm.x.shape());
      Tensor expected_dx(dtype, norm.x.shape());
      fused.grad_apply(norm.Inputs(), norm.dy.raw(), sums[0].raw(), sums[1].raw(), kNormRows,
                       dx.raw());
      plain.grad_apply(gated.raw(), norm.x.raw(), norm.scale.raw(), norm.mean.raw(),
                       norm.variance.raw(), sums[0].raw(), sums[1].raw(), 1e-3, kNormRows,
                       expected_dx.raw(), kNormRows, channels);
      CHECK(HaveSameBits(dx, expected_dx));
    }
  }
}

#ifdef TPUEST_HAS_AVX512
// The results of a table's kernels for the same numbers.
std::vector<Tensor> Results(const KernelTable& table, DType dtype, int64_t channels) {
  const Norm norm(dtype, channels);
  const FusedBatchNormKernels fused = table.fused_batch_norm(dtype, NormActivation::kRelu6);
  std::vector<Tensor> results;
  for (const DType of : {DType::kDouble, DType::kDouble, DType::kFloat, DType::kFloat}) {
    results.emplace_back(of, Shape{channels});
  }
  fused.moments(norm.x.raw(), results[0].data<double>(), results[1].data<double>(), kNormRows,
                channels);
  fused.grad_sums(norm.Inputs(), norm.dy.raw(), results[2].raw(), results[3].raw());
  const WindowAxis axis = {.in = 6, .out = 3, .size = 3, .stride = 2, .before = 0, .after = 1};
  const ConvShape shape = {.batch = 2,
                           .height = axis,
                           .width = axis,
                           .channels = channels,
                           .filters = channels,
                           .depthwise = true};
  const Tensor x = Numbers(dtype, {2, 6, 6, channels});
  const Tensor y = Numbers(dtype, {2, 3, 3, channels}, 3);
  const Tensor filter = Numbers(DType::kFloat, {3, 3, channels}, 7);
  Tensor forward(dtype, y.shape());
  Tensor dx(dtype, x.shape());
  Tensor dfilter(DType::kFloat, filter.shape());
  std::vector<double> totals(static_cast<size_t>(filter.elements()));
  const DepthwiseKernels depthwise = table.depthwise(dtype);
  depthwise.forward(shape, x.raw(), filter.data<float>(), forward.raw());
  depthwise.backward_data(shape, y.raw(), filter.data<float>(), dx.raw());
  depthwise.backward_filter(shape, x.raw(), y.raw(), dfilter.data<float>(), totals.data());
  for (const Tensor& result : {forward, dx, dfilter}) results.push_back(result);
  return results;
}

TEST_CASE("both sets of instructions give the same bits") {
  if (CpuIsas().back() != CpuIsa::kAvx512) return;
  for (const DType dtype : kNarrow) {
    for (const int64_t channels : kChannels) {
      CAPTURE(channels);
      const std::vector<Tensor> a = Results(base::Table(), dtype, channels);
      const std::vector<Tensor> b = Results(avx512::Table(), dtype, channels);
      for (size_t i = 0; i < a.size(); ++i) CHECK(HaveSameBits(a[i], b[i]));
    }
  }
}
#endif

}  // namespace
}  // namespace tpuest
