#pragma once
// Two-dimensional convolution by oneDNN, and its gradients. Images are [N, H, W, C]; filters are
// [kh, kw, C, F], or [kh, kw, C, M] if every channel has M filters of its own. Types are float or
// bfloat16; conv_plain.h computes the same in double. An object is made once per shape, and
// `threads` threads run it, each with its own number.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/kernels/isa/conv_shape.h"
#include "core/tensor/dtype.h"

namespace tpuest {

// y = conv(x, filter) [+ bias], then max(y, 0) if `relu`.
class ConvForward {
 public:
  ConvForward(const ConvShape& shape, DType dtype, bool bias, bool relu, int threads);
  ~ConvForward();
  // The primitive reads the filter in a layout that oneDNN chooses, so it is packed once and used
  // often.
  [[nodiscard]] size_t packed_bytes() const;
  [[nodiscard]] std::string packed_layout() const;
  void Pack(int thread, const void* filter, void* packed);
  [[nodiscard]] size_t scratch_bytes() const;
  // bias [F] of the same dtype, or nullptr.
  void Run(int thread, const void* x, const void* packed, const void* bias, void* y, void* scratch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// dx from dy.
class ConvBackwardData {
 public:
  ConvBackwardData(const ConvShape& shape, DType dtype, int threads);
  ~ConvBackwardData();
  [[nodiscard]] size_t packed_bytes() const;
  [[nodiscard]] std::string packed_layout() const;
  void Pack(int thread, const void* filter, void* packed);
  [[nodiscard]] size_t scratch_bytes() const;
  void Run(int thread, const void* dy, const void* packed, void* dx, void* scratch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// dfilter (and dbias = dy summed over all but the last axis) from x and dy, summed over the batch
// in float. The results have the dtype `result` (float or bfloat16).
class ConvBackwardFilter {
 public:
  ConvBackwardFilter(const ConvShape& shape, DType dtype, DType result, bool bias, int threads);
  ~ConvBackwardFilter();
  [[nodiscard]] size_t scratch_bytes() const;
  // dbias is nullptr if it is not needed.
  void Run(int thread, const void* x, const void* dy, void* dfilter, void* dbias, void* scratch);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tpuest
