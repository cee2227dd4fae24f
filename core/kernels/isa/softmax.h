#pragma once
// Softmax over rows of [rows, classes] and its cross entropies: bfloat16 (computed in float),
// float, double.

#include <cstdint>

#include "core/tensor/dtype.h"

namespace tpuest {

struct SoftmaxKernels {
  // x and y may be the same memory.
  void (*softmax)(const void* x, void* y, int64_t rows, int64_t classes);
  void (*log_softmax)(const void* x, void* y, int64_t rows, int64_t classes);
  // loss[r] = -log softmax(x[r])[label[r]], dx = softmax(x) - one_hot(label). A label outside
  // 0..classes-1 gives NaN as loss and in its row of dx.
  void (*sparse_loss)(const void* x, const void* labels, bool labels_are_int64, void* loss,
                      void* dx, int64_t rows, int64_t classes);
  // loss[r] = -sum(labels[r] log softmax(x[r])), dx = softmax(x) - labels as in TensorFlow, which
  // is the derivative if the labels of a row sum to 1. Labels that are 0 add nothing. A step of 0
  // uses the first row of x or labels for all rows.
  void (*loss)(const void* x, int64_t x_step, const void* labels, int64_t labels_step, void* loss,
               void* dx, int64_t rows, int64_t classes);
};

[[nodiscard]] SoftmaxKernels FindSoftmax(DType dtype);

}  // namespace tpuest
