#pragma once
// Non-linearities and their gradients on contiguous memory: bfloat16 (computed in float), float,
// double. The result of an element does not depend on its position. In place is allowed. NaN stays
// NaN.

#include <cstddef>

#include "core/tensor/dtype.h"

namespace tpuest {

// Sources: ELU, Clevert et al. 2015; SELU, Klambauer et al. 2017. Softplus is log(1 + exp(x)),
// softsign x / (1 + |x|), leaky ReLU x above 0 and alpha x below.
enum class Activation { kRelu, kRelu6, kElu, kSelu, kLeakyRelu, kSoftplus, kSoftsign };

// alpha is the slope of kLeakyRelu below 0; all other activations ignore it.
using ActivationKernel = void (*)(const void* x, void* y, size_t n, float alpha);
// dx from dy and `at`: for kElu and kSelu `at` is the function's result, otherwise its argument
// (for kRelu and kRelu6 it may be either).
using ActivationGradKernel = void (*)(const void* dy, const void* at, void* dx, size_t n,
                                      float alpha);

[[nodiscard]] ActivationKernel FindActivation(Activation activation, DType dtype);
[[nodiscard]] ActivationGradKernel FindActivationGrad(Activation activation, DType dtype);

}  // namespace tpuest
