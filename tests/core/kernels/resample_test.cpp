// Images resampled by filter kernels. The checksums are those of TensorFlow 2.15's tf.image.resize
// for the same pixels, to the bit:
//
//   image(h, w) = uint8 of (i * 7919 + 13) % 251 for i in 0 .. h * w * 3 - 1; as float, over 7
//   zlib.crc32(tf.image.resize(image, (H, W), method=..., antialias=...).numpy().tobytes())
//
// kTriangle and kKeysCubic are bilinear and bicubic with antialias.
#include "core/kernels/resample.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <vector>

namespace tpuest {
namespace {

struct ResampleRow {
  ResampleShape shape;
  uint32_t of_bytes;
  uint32_t of_floats;
};
const std::vector<ResampleRow> kResampleRows = {
    {{ResampleKernel::kLanczos3, false, 9, 13, 4, 5, 3}, 0x2e2a73cf, 0x63edb568},
    {{ResampleKernel::kLanczos3, true, 9, 13, 4, 5, 3}, 0x4871e5f5, 0x6a76b761},
    {{ResampleKernel::kLanczos5, false, 9, 13, 4, 5, 3}, 0x4f66a5b5, 0xf8977dc1},
    {{ResampleKernel::kLanczos5, true, 9, 13, 4, 5, 3}, 0x26137191, 0x9b2c28ef},
    {{ResampleKernel::kGaussian, false, 9, 13, 4, 5, 3}, 0x3743a901, 0xcc128ebf},
    {{ResampleKernel::kGaussian, true, 9, 13, 4, 5, 3}, 0x893ea309, 0x54e39a43},
    {{ResampleKernel::kMitchellCubic, false, 9, 13, 4, 5, 3}, 0xf751f255, 0xb0a8ea8e},
    {{ResampleKernel::kMitchellCubic, true, 9, 13, 4, 5, 3}, 0x218558ed, 0x13a68394},
    {{ResampleKernel::kTriangle, true, 9, 13, 4, 5, 3}, 0x24555237, 0x47c596a8},
    {{ResampleKernel::kKeysCubic, true, 9, 13, 4, 5, 3}, 0x28215dba, 0xa596ca1a},
    {{ResampleKernel::kLanczos3, false, 5, 4, 11, 7, 3}, 0x36fedaf5, 0xc3274324},
    {{ResampleKernel::kLanczos3, true, 5, 4, 11, 7, 3}, 0x36fedaf5, 0xc3274324},
    {{ResampleKernel::kLanczos5, false, 5, 4, 11, 7, 3}, 0x5cb74dda, 0xd46a214a},
    {{ResampleKernel::kLanczos5, true, 5, 4, 11, 7, 3}, 0x5cb74dda, 0xd46a214a},
    {{ResampleKernel::kGaussian, false, 5, 4, 11, 7, 3}, 0x68a7288d, 0x26b2bf63},
    {{ResampleKernel::kGaussian, true, 5, 4, 11, 7, 3}, 0x68a7288d, 0x26b2bf63},
    {{ResampleKernel::kMitchellCubic, false, 5, 4, 11, 7, 3}, 0x11987129, 0x688ba236},
    {{ResampleKernel::kMitchellCubic, true, 5, 4, 11, 7, 3}, 0x11987129, 0x688ba236},
    {{ResampleKernel::kTriangle, true, 5, 4, 11, 7, 3}, 0x7d5f0acd, 0x2aed48fb},
    {{ResampleKernel::kKeysCubic, true, 5, 4, 11, 7, 3}, 0xe59433ba, 0x8d3887d7},
    {{ResampleKernel::kLanczos3, false, 6, 6, 6, 6, 3}, 0xc2fc340f, 0x159e5ffb},
    {{ResampleKernel::kLanczos3, true, 6, 6, 6, 6, 3}, 0xc2fc340f, 0x159e5ffb},
    {{ResampleKernel::kLanczos5, false, 6, 6, 6, 6, 3}, 0xabf42ef9, 0x7d8ae4f1},
    {{ResampleKernel::kLanczos5, true, 6, 6, 6, 6, 3}, 0xabf42ef9, 0x7d8ae4f1},
    {{ResampleKernel::kGaussian, false, 6, 6, 6, 6, 3}, 0x611c9d26, 0x1c15d247},
    {{ResampleKernel::kGaussian, true, 6, 6, 6, 6, 3}, 0x611c9d26, 0x1c15d247},
    {{ResampleKernel::kMitchellCubic, false, 6, 6, 6, 6, 3}, 0xa4c8cd02, 0xd0a3ff8c},
    {{ResampleKernel::kMitchellCubic, true, 6, 6, 6, 6, 3}, 0xa4c8cd02, 0xd0a3ff8c},
    {{ResampleKernel::kTriangle, true, 6, 6, 6, 6, 3}, 0x51172d31, 0x1ca26059},
    {{ResampleKernel::kKeysCubic, true, 6, 6, 6, 6, 3}, 0x51172d31, 0x1ca26059},
    {{ResampleKernel::kLanczos3, false, 1, 7, 3, 2, 3}, 0x3502ebc3, 0x7e66a116},
    {{ResampleKernel::kLanczos3, true, 1, 7, 3, 2, 3}, 0xf8af6475, 0x06c638ba},
    {{ResampleKernel::kLanczos5, false, 1, 7, 3, 2, 3}, 0x8aff19ce, 0x45b8ef89},
    {{ResampleKernel::kLanczos5, true, 1, 7, 3, 2, 3}, 0xf33688c8, 0x4288bfb4},
    {{ResampleKernel::kGaussian, false, 1, 7, 3, 2, 3}, 0x86ab2203, 0x8c20e48c},
    {{ResampleKernel::kGaussian, true, 1, 7, 3, 2, 3}, 0x244ccfd0, 0x05d22c7f},
    {{ResampleKernel::kMitchellCubic, false, 1, 7, 3, 2, 3}, 0x0108ba06, 0x61a6be3f},
    {{ResampleKernel::kMitchellCubic, true, 1, 7, 3, 2, 3}, 0xb06f7a76, 0x438e5ded},
    {{ResampleKernel::kTriangle, true, 1, 7, 3, 2, 3}, 0x496e30a6, 0xadfccbb4},
    {{ResampleKernel::kKeysCubic, true, 1, 7, 3, 2, 3}, 0x9185d67c, 0xe884bff0},
    {{ResampleKernel::kLanczos3, false, 32, 48, 7, 50, 3}, 0x8e92a52d, 0xf2ccb27b},
    {{ResampleKernel::kLanczos3, true, 32, 48, 7, 50, 3}, 0xce7d4886, 0x55678f20},
    {{ResampleKernel::kLanczos5, false, 32, 48, 7, 50, 3}, 0x00cff298, 0x91a9aac2},
    {{ResampleKernel::kLanczos5, true, 32, 48, 7, 50, 3}, 0xdb53bebf, 0x5534a9fc},
    {{ResampleKernel::kGaussian, false, 32, 48, 7, 50, 3}, 0x520f5cd6, 0xb9c60f77},
    {{ResampleKernel::kGaussian, true, 32, 48, 7, 50, 3}, 0x7d59f62c, 0xc04a75fe},
    {{ResampleKernel::kMitchellCubic, false, 32, 48, 7, 50, 3}, 0x42c49240, 0xe0167f22},
    {{ResampleKernel::kMitchellCubic, true, 32, 48, 7, 50, 3}, 0x6ae7d348, 0xf64af993},
    {{ResampleKernel::kTriangle, true, 32, 48, 7, 50, 3}, 0xb0a99690, 0x312ace82},
    {{ResampleKernel::kKeysCubic, true, 32, 48, 7, 50, 3}, 0x757aaa67, 0x4108d629},
};

template <class T>
uint32_t SumOfResampled(const ResampleRow& row, T divisor) {
  const ResampleShape& shape = row.shape;
  const auto count = static_cast<size_t>(shape.in_height * shape.in_width * shape.channels);
  std::vector<T> image(count);
  for (size_t i = 0; i < count; ++i) {
    image[i] = static_cast<T>((i * 7919 + 13) % 251);
    image[i] = static_cast<T>(image[i] / divisor);
  }
  const Resample resample(shape);
  std::vector<float> scratch(resample.scratch_bytes() / sizeof(float));
  const auto results = static_cast<size_t>(shape.out_height * shape.out_width * shape.channels);
  std::vector<float> resized(results);
  REQUIRE(resample.Run(kDTypeOf<T>, image.data(), resized.data(), scratch.data()));
  return static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(resized.data()),
                                     static_cast<uInt>(results * sizeof(float))));
}

}  // namespace

TEST_CASE("images are resampled as tf.image.resize does it, to the bit") {
  for (const ResampleRow& row : kResampleRows) {
    const ResampleShape& shape = row.shape;
    CAPTURE(static_cast<int>(shape.kernel));
    CAPTURE(shape.antialias);
    CAPTURE(shape.in_height);
    CHECK(SumOfResampled<uint8_t>(row, 1) == row.of_bytes);
    CHECK(SumOfResampled<float>(row, 7) == row.of_floats);
  }
}

TEST_CASE("an even image stays even, and other types are left to the caller") {
  const Resample resample({.kernel = ResampleKernel::kMitchellCubic,
                           .antialias = true,
                           .in_height = 4,
                           .in_width = 6,
                           .out_height = 2,
                           .out_width = 9,
                           .channels = 1});
  const std::vector<float> image(24, 0.5F);
  std::vector<float> scratch(resample.scratch_bytes() / sizeof(float));
  std::vector<float> resized(18);
  REQUIRE(resample.Run(DType::kFloat, image.data(), resized.data(), scratch.data()));
  for (const float pixel : resized) CHECK(pixel == doctest::Approx(0.5));
  CHECK_FALSE(resample.Run(DType::kInt64, image.data(), resized.data(), scratch.data()));
}

}  // namespace tpuest
