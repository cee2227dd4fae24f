// Prints one line per random convolution or matrix product of oneDNN, with a hash of the bits of
// its result. Compares processors of different generations.
//
//   product_bits avx2|avx512 SEED CASES

#include <farmhash.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "core/base/error.h"
#include "core/kernels/conv.h"
#include "core/kernels/gemm.h"
#include "core/kernels/isa/cpu_isa.h"
#include "core/tensor/tensor.h"
#include "tests/core/kernels/compare.h"

namespace tpuest {
namespace {

// Draws the same numbers on every machine (Steele et al. 2014, SplitMix64).
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  // From `least` to `most`.
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(Next() % static_cast<uint64_t>(most - least + 1));
  }
  template <class T>
  T Of(std::initializer_list<T> values) {
    return values.begin()[Between(0, static_cast<int64_t>(values.size()) - 1)];
  }
  // Values without a pattern, of both signs and several magnitudes, so that the order of a sum
  // shows in its last bits.
  Tensor Values(Shape shape) {
    Tensor tensor(DType::kFloat, std::move(shape));
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const uint64_t bits = Next();
      const auto unit = static_cast<float>(bits >> 40) * 0x1p-23F - 1.0F;
      tensor.data<float>()[i] = unit * static_cast<float>(1 << (bits & 7));
    }
    return tensor;
  }

 private:
  uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  uint64_t state_;
};

uint64_t HashOf(const Tensor& tensor) {
  return util::Fingerprint64(static_cast<const char*>(tensor.raw()), tensor.bytes());
}

std::string OfGemm(Draw& draw) {
  const bool is_long = draw.Between(0, 2) == 0;
  const GemmShape shape = {draw.Of<int64_t>({1, 8, 32, 64, 61}),
                           is_long ? draw.Between(1000, 4000) : draw.Between(1, 600),
                           is_long ? draw.Between(1, 64) : draw.Between(1, 300),
                           draw.Between(0, 1) == 1, draw.Between(0, 1) == 1};
  const auto [rows, inner, columns, transpose_a, transpose_b] = shape;
  const Tensor a = draw.Values({rows, inner});
  const Tensor b = draw.Values({inner, columns});
  const Tensor bias = draw.Values({columns});
  Tensor c(DType::kFloat, {rows, columns});
  Gemm gemm(shape, DType::kFloat, DType::kFloat, /*bias=*/true, /*relu=*/false, 1);
  Tensor scratch = Bytes(gemm.scratch_bytes());
  gemm.Run(0, a.raw(), b.raw(), bias.raw(), c.raw(), scratch.raw());
  return fmt::format("matmul {}x{}x{} {}{}: {:016x}", rows, inner, columns, transpose_a,
                     transpose_b, HashOf(c));
}

ConvShape DrawConv(Draw& draw) {
  const int64_t size = draw.Of<int64_t>({1, 1, 3, 3, 5, 7});
  const int64_t in = draw.Between(size, 15);
  const int64_t stride = draw.Of<int64_t>({1, 1, 2});
  const int64_t pad = draw.Between(0, size / 2);
  const WindowAxis axis = {.in = in,
                           .out = (in + 2 * pad - size) / stride + 1,
                           .size = size,
                           .stride = stride,
                           .before = pad,
                           .after = pad};
  const bool is_wide = size == 1;
  ConvShape shape = {
      .batch = draw.Of<int64_t>({1, 4, 16}),
      .height = axis,
      .width = axis,
      .channels = draw.Of<int64_t>({1, 3, 8, 16, is_wide ? 256 : 32, is_wide ? 200 : 24}),
      .filters = draw.Of<int64_t>({1, 8, 10, 32, is_wide ? 256 : 48})};
  if (draw.Between(0, 4) == 0) {
    shape.depthwise = true;
    shape.filters = shape.channels;
  }
  return shape;
}

std::string OfConv(Draw& draw) {
  const ConvShape s = DrawConv(draw);
  const Tensor x = draw.Values({s.batch, s.height.in, s.width.in, s.channels});
  const Tensor filter =
      draw.Values({s.height.size, s.width.size, s.channels, s.depthwise ? 1 : s.filters});
  const Tensor bias = draw.Values({s.filters});
  const Tensor dy = draw.Values({s.batch, s.height.out, s.width.out, s.filters});
  Tensor y(DType::kFloat, dy.shape());
  Tensor dx(DType::kFloat, x.shape());
  Tensor dfilter(DType::kFloat, filter.shape());
  Tensor dbias(DType::kFloat, bias.shape());
  {
    ConvForward conv(s, DType::kFloat, /*bias=*/true, /*relu=*/false, 1);
    Tensor packed = Bytes(conv.packed_bytes());
    Tensor scratch = Bytes(conv.scratch_bytes());
    conv.Pack(0, filter.raw(), packed.raw());
    conv.Run(0, x.raw(), packed.raw(), bias.raw(), y.raw(), scratch.raw());
  }
  {
    ConvBackwardData conv(s, DType::kFloat, 1);
    Tensor packed = Bytes(conv.packed_bytes());
    Tensor scratch = Bytes(conv.scratch_bytes());
    conv.Pack(0, filter.raw(), packed.raw());
    conv.Run(0, dy.raw(), packed.raw(), dx.raw(), scratch.raw());
  }
  {
    ConvBackwardFilter conv(s, DType::kFloat, DType::kFloat, /*bias=*/true, 1);
    Tensor scratch = Bytes(conv.scratch_bytes());
    conv.Run(0, x.raw(), dy.raw(), dfilter.raw(), dbias.raw(), scratch.raw());
  }
  return fmt::format("conv {}x{}^2x{}, {}^2/{} +{} to {}{}: {:016x} {:016x} {:016x} {:016x}",
                     s.batch, s.height.in, s.channels, s.height.size, s.height.stride,
                     s.height.before, s.filters, s.depthwise ? " depthwise" : "", HashOf(y),
                     HashOf(dx), HashOf(dfilter), HashOf(dbias));
}

int Run(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "product_bits avx2|avx512 SEED CASES\n");
    return 2;
  }
  for (const CpuIsa isa : CpuIsas()) {
    if (NameOf(isa) == argv[1]) PinCpuIsa(isa);
  }
  Check(ChosenCpuIsa().pinned, "this processor has no {}", argv[1]);
  Draw draw(std::strtoull(argv[2], nullptr, 10));
  for (int64_t i = std::strtoll(argv[3], nullptr, 10); i > 0; --i) {
    fmt::print("{}\n", draw.Between(0, 2) == 0 ? OfGemm(draw) : OfConv(draw));
  }
  return 0;
}

}  // namespace
}  // namespace tpuest

int main(int argc, char** argv) { return tpuest::Run(argc, argv); }
