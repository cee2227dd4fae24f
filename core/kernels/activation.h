#pragma once
// Non-linearities and their gradients on contiguous memory: bfloat16 (computed in float), float,
// double. The result of an element does not depend on where it stands. In place is allowed. NaN
// stays NaN.

#include <cstddef>

#include "core/tensor/dtype.h"

namespace tpuest {

enum class Activation { kRelu, kRelu6, kElu, kSelu, kLeakyRelu, kSoftplus, kSoftsign };

// alpha: of kLeakyRelu.
using ActivationKernel = void (*)(const void* x, void* y, size_t n, float alpha);
// dx from dy and `at`: for kElu and kSelu the function's result, for all others its argument (for
// kRelu and kRelu6 either will do).
using ActivationGradKernel = void (*)(const void* dy, const void* at, void* dx, size_t n,
                                      float alpha);

[[nodiscard]] ActivationKernel FindActivation(Activation activation, DType dtype);
[[nodiscard]] ActivationGradKernel FindActivationGrad(Activation activation, DType dtype);

}  // namespace tpuest
