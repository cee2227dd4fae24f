#pragma once
// Softmax over rows of [rows, classes] and the cross entropies of it: bfloat16 (computed in float),
// float, double.

#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

struct SoftmaxKernels {
  // In place is allowed.
  void (*softmax)(const void* x, void* y, int64_t rows, int64_t classes);
  void (*log_softmax)(const void* x, void* y, int64_t rows, int64_t classes);
  // loss[r] = -log softmax(x[r])[label[r]], dx = softmax(x) - one_hot(label). A label outside
  // 0..classes-1 gives a loss and a row of dx that are NaN.
  void (*sparse_loss)(const void* x, const void* labels, bool labels_are_int64, void* loss,
                      void* dx, int64_t rows, int64_t classes);
  // loss[r] = -sum(labels[r] log softmax(x[r])), dx = softmax(x) - labels, as TensorFlow has it:
  // the slope where the labels of a row sum to 1. Labels that are 0 add nothing. A step of 0 uses
  // the first row of x or labels for all.
  void (*loss)(const void* x, int64_t x_step, const void* labels, int64_t labels_step, void* loss,
               void* dx, int64_t rows, int64_t classes);
};

[[nodiscard]] SoftmaxKernels FindSoftmax(DType dtype);

}  // namespace tpuest
