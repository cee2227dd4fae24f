#pragma once
// Images [height, width, channels] in another size by a kernel that is laid over them, to the bit
// as TensorFlow's op ScaleAndTranslate makes them: what tf.image.resize does with antialias=True,
// and always for lanczos3, lanczos5, gaussian and mitchellcubic.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor/dtype.h"

namespace tpuest {

// Kernels by their radius in pixels: 1, 2, 2, 3, 5, 1.5.
enum class ResampleKernel {
  kTriangle,
  kKeysCubic,
  kMitchellCubic,
  kLanczos3,
  kLanczos5,
  kGaussian
};

struct ResampleShape {
  ResampleKernel kernel = ResampleKernel::kTriangle;
  // If the image shrinks, the kernel widens by the same factor, so every pixel counts.
  bool antialias = false;
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t channels = 0;
};

// Sizes are at least 1. Made once for a shape; threads may share it.
class Resample {
 public:
  explicit Resample(const ResampleShape& shape);

  // What the rows of a result are made of, [out_height, in_height]: Run multiplies by it, and then
  // by that of the columns.
  [[nodiscard]] std::vector<float> RowWeights() const;

  // Memory that a call of Run needs for itself, aligned as float.
  [[nodiscard]] size_t scratch_bytes() const;
  // One image, uint8 or float, -> float. False for another dtype.
  bool Run(DType dtype, const void* image, float* resized, float* scratch) const;

 private:
  // What a result of an axis is made of: pixels from `begin` on.
  struct Span {
    int64_t begin = 0;
    std::vector<float> weights;
  };
  [[nodiscard]] std::vector<Span> SpansOf(int64_t in, int64_t out) const;
  template <class T>
  void Rows(const T* image, float* rows) const;
  void Columns(const float* rows, float* resized) const;

  ResampleShape shape_;
  std::vector<Span> rows_;
  std::vector<Span> columns_;
};

}  // namespace tpuest
