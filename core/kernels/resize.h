#pragma once
// Resizes images [height, width, channels] with the bits of TensorFlow's ops ResizeBilinear,
// ResizeNearestNeighbor, ResizeBicubic and ResizeArea.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/tensor/dtype.h"

namespace tpuest {

enum class ResizeMethod { kNearest, kBilinear, kBicubic, kArea };

// The position in the image that result i of an axis reads, with scale = in / out.
enum class ResizeGrid {
  kHalfPixel,    // (i + 0.5) * scale - 0.5: pixels are squares; TensorFlow 2, tf.image.resize
  kLegacy,       // i * scale: TensorFlow 1, without an argument
  kAlignCorners  // i * scale, scale = (in - 1) / (out - 1): corners on corners
};

struct ResizeShape {
  ResizeMethod method = ResizeMethod::kBilinear;
  // kBicubic: half pixels use Keys' kernel with A = -0.5, and pixels outside the image count as
  // nothing; the other grids use A = -0.75 and repeat the edge. kArea has no half pixels.
  ResizeGrid grid = ResizeGrid::kHalfPixel;
  int64_t in_height = 0;
  int64_t in_width = 0;
  int64_t out_height = 0;
  int64_t out_width = 0;
  int64_t channels = 0;
};

// Sizes are at least 1. An object is made once per shape; threads may share it.
class Resize {
 public:
  explicit Resize(const ResizeShape& shape);

  // Scratch memory that a call of Run needs, aligned as float.
  [[nodiscard]] size_t scratch_bytes() const;
  // Resizes one image of a numeric dtype to float, or with kNearest to the image's dtype. Returns
  // false if there is no kernel for the dtype.
  bool Run(DType dtype, const void* image, void* resized, void* scratch) const;
  // The derivative: dy (float; kNearest: of `dtype`) -> dx of the floating type `dtype`. Returns
  // false for any other dtype.
  bool RunGrad(DType dtype, const void* dy, void* dx) const;

  // A pixel of an axis and its weight in a result.
  struct Share {
    int64_t pixel = 0;
    float weight = 0;
  };
  // The pixels and weights of each result of an axis. An image is resized along its rows and then
  // along its columns.
  [[nodiscard]] std::vector<std::vector<Share>> RowShares() const;
  [[nodiscard]] std::vector<std::vector<Share>> ColumnShares() const;

 private:
  // The pixels and weights from which a result along an axis is computed. kNearest has one pixel;
  // kBilinear has two, with the second pixel's weight in weight[1].
  struct Taps {
    int64_t pixel[4] = {};
    float weight[4] = {};
  };
  // The pixels begin .. end - 1 of the image that a result along an axis covers.
  struct Cover {
    int64_t begin = 0;
    int64_t end = 0;
    std::vector<float> part;  // weight of each pixel
  };
  [[nodiscard]] std::vector<Taps> TapsOf(int64_t in, int64_t out) const;
  [[nodiscard]] std::vector<Cover> CoversOf(int64_t in, int64_t out) const;
  [[nodiscard]] std::vector<std::vector<Share>> SharesOf(const std::vector<Taps>& taps) const;
  [[nodiscard]] std::vector<std::vector<Share>> SharesOf(const std::vector<Cover>& covers,
                                                         int64_t in, int64_t out) const;
  template <class T>
  void AreaGrad(const float* dy, T* dx) const;

  template <class T>
  void Nearest(const T* image, T* resized) const;
  template <class T>
  void Bilinear(const T* image, float* resized, float* scratch) const;
  template <class T>
  void Bicubic(const T* image, float* resized, float* scratch) const;
  template <class T>
  void Area(const T* image, float* resized) const;
  // Widens or shrinks a row of the image to the width of the result.
  template <class T>
  void Across(const T* row, float* across) const;

  ResizeShape shape_;
  std::vector<Taps> rows_;
  std::vector<Taps> columns_;
  std::vector<Cover> row_covers_;
  std::vector<Cover> column_covers_;
};

}  // namespace tpuest
