#pragma once
// Resizes images [height, width, channels] by a filter kernel, with the bits of TensorFlow's op
// ScaleAndTranslate: tf.image.resize uses it with antialias=True, and always for lanczos3,
// lanczos5, gaussian and mitchellcubic.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor/dtype.h"

namespace tpuest {

// Kernels; their radii in pixels are 1, 2, 2, 3, 5, 1.5.
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
  // If the image shrinks, widens the kernel by the same factor, so that every pixel counts.
  bool antialias = false;
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t channels = 0;
};

// Sizes are at least 1. An object is made once per shape; threads may share it.
class Resample {
 public:
  explicit Resample(const ResampleShape& shape);

  // The weights [out_height, in_height] of the image's rows in the result's rows. Run multiplies by
  // them, and then by the weights of the columns.
  [[nodiscard]] std::vector<float> RowWeights() const;

  // Scratch memory that a call of Run needs, aligned as float.
  [[nodiscard]] size_t scratch_bytes() const;
  // Resizes one image of uint8 or float to float. Returns false for any other dtype.
  bool Run(DType dtype, const void* image, float* resized, float* scratch) const;

 private:
  // The weights of the pixels from `begin` on in one result of an axis.
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
