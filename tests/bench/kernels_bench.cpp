// Measures each kernel of the MNIST CNN's training step by itself, on one thread with a block of 64
// rows: the fastest of several runs, in microseconds per example.
//   build/release/tests/bench/kernels_bench

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/kernels/conv.h"
#include "core/kernels/gemm.h"
#include "core/kernels/isa/activation.h"
#include "core/kernels/isa/bias.h"
#include "core/kernels/isa/pool.h"
#include "core/kernels/isa/softmax.h"
#include "core/kernels/isa/unary.h"
#include "core/tensor/tensor.h"

namespace tpuest {
namespace {

constexpr int64_t kRows = 64;

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void Report(const std::string& name, const std::function<void()>& run) {
  constexpr int kRepeats = 5;
  constexpr int kRuns = 10;
  run();
  double best = 1e9;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const double start = Seconds();
    for (int i = 0; i < kRuns; ++i) run();
    best = std::min(best, (Seconds() - start) / kRuns);
  }
  fmt::print("{:<34} {:8.2f}\n", name, best / static_cast<double>(kRows) * 1e6);
}

// Small numbers of both signs.
Tensor Numbers(DType dtype, Shape shape) {
  Tensor tensor(DType::kFloat, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(i * 37 % 101 - 50) / 64.0F;
  }
  return tensor.Cast(dtype);
}

Tensor Bytes(size_t bytes) { return {DType::kUint8, {static_cast<int64_t>(bytes)}}; }

ConvShape Conv5x5(int64_t side, int64_t channels, int64_t filters) {
  const WindowAxis axis = {.in = side, .out = side, .size = 5, .before = 2, .after = 2};
  return {.batch = kRows, .height = axis, .width = axis, .channels = channels, .filters = filters};
}

void BenchConv(const std::string& name, DType dtype, const ConvShape& shape, bool with_data_grad) {
  const int64_t side = shape.height.in;
  Tensor x = Numbers(dtype, {kRows, side, side, shape.channels});
  Tensor y = Numbers(dtype, {kRows, side, side, shape.filters});
  const Tensor filter = Numbers(dtype, {5, 5, shape.channels, shape.filters});
  const Tensor bias = Numbers(dtype, {shape.filters});
  ConvForward forward(shape, dtype, /*bias=*/true, /*relu=*/false, 1);
  Tensor packed = Bytes(forward.packed_bytes());
  Tensor scratch = Bytes(forward.scratch_bytes());
  Report(name + " pack filter", [&] { forward.Pack(0, filter.raw(), packed.raw()); });
  Report(name + " forward",
         [&] { forward.Run(0, x.raw(), packed.raw(), bias.raw(), y.raw(), scratch.raw()); });
  for (const bool with_bias : {false, true}) {
    ConvBackwardFilter backward(shape, dtype, DType::kFloat, with_bias, 1);
    Tensor dfilter(DType::kFloat, filter.shape());
    Tensor dbias(DType::kFloat, bias.shape());
    scratch = Bytes(backward.scratch_bytes());
    Report(name + (with_bias ? " backward filter, bias" : " backward filter"), [&] {
      backward.Run(0, x.raw(), y.raw(), dfilter.raw(), with_bias ? dbias.raw() : nullptr,
                   scratch.raw());
    });
  }
  if (!with_data_grad) return;
  ConvBackwardData backward(shape, dtype, 1);
  packed = Bytes(backward.packed_bytes());
  backward.Pack(0, filter.raw(), packed.raw());
  scratch = Bytes(backward.scratch_bytes());
  Report(name + " backward data",
         [&] { backward.Run(0, y.raw(), packed.raw(), x.raw(), scratch.raw()); });
}

// 256 numbers per example.
void BenchUnary(DType dtype) {
  constexpr int64_t kNumbers = 256;
  const Tensor x = Numbers(dtype, {kRows, kNumbers});
  Tensor y = x.Clone();
  for (const auto& [name, op] :
       std::vector<std::pair<std::string, Unary>>{{"exp", Unary::kExp},
                                                  {"log", Unary::kLog},
                                                  {"expm1", Unary::kExpm1},
                                                  {"sigmoid", Unary::kSigmoid},
                                                  {"tanh", Unary::kTanh},
                                                  {"erf", Unary::kErf}}) {
    const UnaryKernel kernel = FindUnary(op, dtype);
    Report(fmt::format("{} {}", name, NameOf(dtype)),
           [&] { kernel(x.raw(), y.raw(), static_cast<size_t>(x.elements())); });
  }
}

void BenchPool(const std::string& name, DType dtype, int64_t side, int64_t channels) {
  const WindowAxis axis = {.in = side, .out = side / 2, .size = 2, .stride = 2};
  const PoolShape shape = {kRows, axis, axis, channels};
  const Tensor x = Numbers(dtype, {kRows, side, side, channels});
  Tensor dx = x.Clone();
  Tensor y(dtype, {kRows, side / 2, side / 2, channels});
  Tensor dy = Numbers(dtype, y.shape());
  const PoolKernels pool = FindPool(dtype);
  Report(name + " forward", [&] { pool.max(shape, x.raw(), y.raw()); });
  Report(name + " backward", [&] { pool.max_grad(shape, x.raw(), y.raw(), dy.raw(), dx.raw()); });
  const auto n = static_cast<size_t>(y.elements());
  const ActivationKernel relu = FindActivation(Activation::kRelu, dtype);
  const ActivationGradKernel relu_grad = FindActivationGrad(Activation::kRelu, dtype);
  Report(name + " relu", [&] { relu(y.raw(), y.raw(), n, 0); });
  Report(name + " relu grad", [&] { relu_grad(dy.raw(), y.raw(), dy.raw(), n, 0); });
  Tensor dbias(DType::kFloat, {channels});
  const BiasGradKernel bias = FindBiasGrad(dtype, DType::kFloat);
  Report(name + " bias grad",
         [&] { bias(dy.raw(), dbias.raw(), dy.elements() / channels, channels); });
}

void BenchDense(const std::string& name, DType dtype, int64_t in, int64_t out) {
  Tensor x = Numbers(dtype, {kRows, in});
  Tensor y = Numbers(dtype, {kRows, out});
  const Tensor kernel = Numbers(dtype, {in, out});
  const Tensor bias = Numbers(dtype, {out});
  Tensor dkernel(DType::kFloat, {in, out});
  const auto run = [&](const std::string& what, const GemmShape& shape, DType result,
                       const Tensor& a, const Tensor& b, bool with_bias, Tensor& c) {
    Gemm gemm(shape, dtype, result, with_bias, /*relu=*/with_bias, 1);
    Tensor scratch = Bytes(gemm.scratch_bytes());
    Report(name + what, [&] {
      gemm.Run(0, a.raw(), b.raw(), with_bias ? bias.raw() : nullptr, c.raw(), scratch.raw());
    });
  };
  run(" forward", {kRows, in, out}, dtype, x, kernel, true, y);
  run(" backward kernel", {in, kRows, out, true, false}, DType::kFloat, x, y, false, dkernel);
  run(" backward data", {kRows, out, in, false, true}, dtype, y, kernel, false, x);
}

void BenchLoss(DType dtype) {
  const Tensor logits = Numbers(dtype, {kRows, 10});
  const Tensor labels(DType::kInt32, {kRows});
  Tensor loss(dtype, {kRows});
  Tensor dx(dtype, {kRows, 10});
  const SoftmaxKernels softmax = FindSoftmax(dtype);
  Report("loss", [&] {
    softmax.sparse_loss(logits.raw(), labels.raw(), false, loss.raw(), dx.raw(), kRows, 10);
  });
}

void BenchAll(DType dtype) {
  fmt::print("{}\n", NameOf(dtype));
  BenchConv("conv1", dtype, Conv5x5(28, 1, 32), /*with_data_grad=*/false);
  BenchPool("pool1", dtype, 28, 32);
  BenchConv("conv2", dtype, Conv5x5(14, 32, 64), /*with_data_grad=*/true);
  BenchPool("pool2", dtype, 14, 64);
  BenchDense("dense1", dtype, 3136, 128);
  BenchDense("dense2", dtype, 128, 10);
  BenchLoss(dtype);
}

}  // namespace
}  // namespace tpuest

int main() {
  tpuest::BenchAll(tpuest::DType::kFloat);
  tpuest::BenchAll(tpuest::DType::kBfloat16);
  for (const auto dtype :
       {tpuest::DType::kFloat, tpuest::DType::kDouble, tpuest::DType::kBfloat16}) {
    tpuest::BenchUnary(dtype);
  }
}
