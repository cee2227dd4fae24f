#include "core/kernels/conv.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "core/kernels/conv_plain.h"
#include "tests/core/kernels/compare.h"

namespace tpuest {
namespace {

struct Case {
  std::string claim;
  ConvShape shape;
};

WindowAxis Axis(int64_t in, int64_t size, int64_t stride, int64_t dilation, int64_t before,
                int64_t after) {
  const int64_t span = (size - 1) * dilation + 1;
  const int64_t out = (in + before + after - span) / stride + 1;
  return {in, out, size, stride, dilation, before, after};
}

std::vector<Case> Cases() {
  return {
      {"5x5 SAME", {2, Axis(9, 5, 1, 1, 2, 2), Axis(7, 5, 1, 1, 2, 2), 3, 8}},
      {"one channel", {2, Axis(28, 5, 1, 1, 2, 2), Axis(28, 5, 1, 1, 2, 2), 1, 32}},
      {"sixteen multiples", {2, Axis(14, 5, 1, 1, 2, 2), Axis(14, 5, 1, 1, 2, 2), 32, 64}},
      {"odd sizes, stride 2, SAME", {3, Axis(9, 3, 2, 1, 1, 1), Axis(7, 3, 2, 1, 1, 1), 5, 6}},
      {"even size, stride 2, more padding behind",
       {1, Axis(8, 3, 2, 1, 0, 1), Axis(8, 3, 2, 1, 0, 1), 4, 7}},
      {"VALID with a rest", {2, Axis(8, 3, 2, 1, 0, 0), Axis(10, 4, 3, 1, 0, 0), 3, 5}},
      {"dilated", {1, Axis(11, 3, 1, 2, 2, 2), Axis(9, 3, 1, 3, 3, 3), 4, 4}},
      {"1x1", {2, Axis(5, 1, 1, 1, 0, 0), Axis(5, 1, 1, 1, 0, 0), 16, 10}},
      {"1x1, stride 2", {2, Axis(6, 1, 2, 1, 0, 0), Axis(6, 1, 2, 1, 0, 0), 16, 16}},
      {"depthwise", {2, Axis(7, 3, 1, 1, 1, 1), Axis(7, 3, 1, 1, 1, 1), 16, 16, true}},
      {"depthwise, multiplier 2", {2, Axis(7, 3, 2, 1, 1, 1), Axis(6, 3, 2, 1, 0, 1), 3, 6, true}},
  };
}

// A case's operands rounded to `dtype`, and the same numbers in double.
struct Operands {
  Operands(const ConvShape& s, DType type)
      : dtype(type),
        x(Numbers(dtype, {s.batch, s.height.in, s.width.in, s.channels})),
        filter(Numbers(dtype,
                       {s.height.size, s.width.size, s.channels,
                        s.depthwise ? s.filters / s.channels : s.filters},
                       31)),
        bias(Numbers(dtype, {s.filters}, 7)),
        y(dtype, {s.batch, s.height.out, s.width.out, s.filters}),
        dy(Numbers(dtype, y.shape(), 53)) {}
  DType dtype;
  Tensor x;
  Tensor filter;
  Tensor bias;
  Tensor y;
  Tensor dy;
};

const double* D(const Tensor& tensor) { return tensor.data<double>(); }

double ForwardDistance(const ConvShape& shape, DType dtype, bool relu) {
  Operands o(shape, dtype);
  ConvForward conv(shape, dtype, /*bias=*/true, relu, 1);
  Tensor packed = Bytes(conv.packed_bytes());
  Tensor scratch = Bytes(conv.scratch_bytes());
  conv.Pack(0, o.filter.raw(), packed.raw());
  conv.Run(0, o.x.raw(), packed.raw(), o.bias.raw(), o.y.raw(), scratch.raw());
  Tensor expected(DType::kDouble, o.y.shape());
  const Tensor x = o.x.Cast(DType::kDouble);
  const Tensor filter = o.filter.Cast(DType::kDouble);
  const Tensor bias = o.bias.Cast(DType::kDouble);
  PlainConvForward(shape, D(x), D(filter), D(bias), relu, expected.data<double>());
  return Distance(o.y, expected);
}

double DataDistance(const ConvShape& shape, DType dtype) {
  Operands o(shape, dtype);
  ConvBackwardData conv(shape, dtype, 1);
  Tensor packed = Bytes(conv.packed_bytes());
  Tensor scratch = Bytes(conv.scratch_bytes());
  Tensor dx(dtype, o.x.shape());
  conv.Pack(0, o.filter.raw(), packed.raw());
  conv.Run(0, o.dy.raw(), packed.raw(), dx.raw(), scratch.raw());
  Tensor expected(DType::kDouble, dx.shape());
  const Tensor dy = o.dy.Cast(DType::kDouble);
  const Tensor filter = o.filter.Cast(DType::kDouble);
  PlainConvBackwardData(shape, D(dy), D(filter), expected.data<double>());
  return Distance(dx, expected);
}

double FilterDistance(const ConvShape& shape, DType dtype, DType result) {
  Operands o(shape, dtype);
  ConvBackwardFilter conv(shape, dtype, result, /*bias=*/true, 1);
  Tensor scratch = Bytes(conv.scratch_bytes());
  Tensor dfilter(result, o.filter.shape());
  Tensor dbias(result, o.bias.shape());
  conv.Run(0, o.x.raw(), o.dy.raw(), dfilter.raw(), dbias.raw(), scratch.raw());
  Tensor expected(DType::kDouble, dfilter.shape());
  const Tensor x = o.x.Cast(DType::kDouble);
  const Tensor dy = o.dy.Cast(DType::kDouble);
  PlainConvBackwardFilter(shape, D(x), D(dy), expected.data<double>());
  Tensor sums(DType::kDouble, dbias.shape());
  for (int64_t i = 0; i < dy.elements(); ++i) {
    sums.data<double>()[i % shape.filters] += D(dy)[i];
  }
  return std::max(Distance(dfilter, expected), Distance(dbias, sums));
}

TEST_CASE("convolution by oneDNN is the formula's") {
  for (const Case& c : Cases()) {
    for (const DType dtype : ProductDTypes()) {
      CAPTURE(c.claim);
      CAPTURE(NameOf(dtype));
      CHECK(ForwardDistance(c.shape, dtype, /*relu=*/false) < Tolerance(dtype));
      CHECK(ForwardDistance(c.shape, dtype, /*relu=*/true) < Tolerance(dtype));
      CHECK(DataDistance(c.shape, dtype) < Tolerance(dtype));
      CHECK(FilterDistance(c.shape, dtype, DType::kFloat) < Tolerance(dtype));
      CHECK(FilterDistance(c.shape, dtype, dtype) < Tolerance(dtype));
    }
  }
}

TEST_CASE("a convolution of head-checked numbers") {
  // [1 2 3] under the window [1 10] and a bias of 100.
  const ConvShape shape = {1, Axis(1, 1, 1, 1, 0, 0), Axis(3, 2, 1, 1, 0, 0), 1, 1};
  const std::vector<float> x = {1, 2, 3};
  const std::vector<float> filter = {1, 10};
  const float bias = 100;
  std::vector<float> y(2);
  PlainConvForward(shape, x.data(), filter.data(), &bias, false, y.data());
  CHECK(y == std::vector<float>{121, 132});
  std::vector<float> dx(3);
  const std::vector<float> dy = {1, 2};
  PlainConvBackwardData(shape, dy.data(), filter.data(), dx.data());
  CHECK(dx == std::vector<float>{1, 12, 20});
  std::vector<float> dfilter(2);
  PlainConvBackwardFilter(shape, x.data(), dy.data(), dfilter.data());
  CHECK(dfilter == std::vector<float>{5, 8});
}

TEST_CASE("a fused ReLU keeps NaN, so that a diverged step is seen") {
  const ConvShape shape = {1, Axis(4, 3, 1, 1, 1, 1), Axis(4, 3, 1, 1, 1, 1), 16, 16};
  for (const DType dtype : ProductDTypes()) {
    Operands o(shape, dtype);
    const Tensor nan = Tensor::Of<float>({1}, {std::nanf("")}).Cast(dtype);
    std::memcpy(o.filter.raw(), nan.raw(), SizeOf(dtype));
    ConvForward conv(shape, dtype, /*bias=*/true, /*relu=*/true, 1);
    Tensor packed = Bytes(conv.packed_bytes());
    Tensor scratch = Bytes(conv.scratch_bytes());
    conv.Pack(0, o.filter.raw(), packed.raw());
    conv.Run(0, o.x.raw(), packed.raw(), o.bias.raw(), o.y.raw(), scratch.raw());
    CHECK(std::isnan(o.y.AsDouble(5 * 16)));
    CHECK_FALSE(std::isnan(o.y.AsDouble(5 * 16 + 1)));
  }
}

TEST_CASE("threads have objects of their own and the same bits") {
  const ConvShape shape = Cases()[0].shape;
  Operands o(shape, DType::kFloat);
  ConvForward conv(shape, DType::kFloat, true, false, 2);
  Tensor packed = Bytes(conv.packed_bytes());
  Tensor scratch = Bytes(conv.scratch_bytes());
  conv.Pack(1, o.filter.raw(), packed.raw());
  Tensor other(DType::kFloat, o.y.shape());
  conv.Run(0, o.x.raw(), packed.raw(), o.bias.raw(), o.y.raw(), scratch.raw());
  conv.Run(1, o.x.raw(), packed.raw(), o.bias.raw(), other.raw(), scratch.raw());
  CHECK(SameBits(o.y, other));
}

}  // namespace
}  // namespace tpuest
