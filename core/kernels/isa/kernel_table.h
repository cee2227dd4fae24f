#pragma once
// The kernels that are compiled once per vector instruction set, from the same sources. Code
// reaches a set's functions only through its table, which is chosen at the first lookup of a
// kernel. For .cpp files of this folder.

#include <cstdint>

#include "core/kernels/isa/activation.h"
#include "core/kernels/isa/batch_norm.h"
#include "core/kernels/isa/bias.h"
#include "core/kernels/isa/binary.h"
#include "core/kernels/isa/cast.h"
#include "core/kernels/isa/cpu_isa.h"
#include "core/kernels/isa/depthwise.h"
#include "core/kernels/isa/fused_batch_norm.h"
#include "core/kernels/isa/optimizer.h"
#include "core/kernels/isa/pool.h"
#include "core/kernels/isa/reduce.h"
#include "core/kernels/isa/softmax.h"
#include "core/kernels/isa/unary.h"

namespace tpuest {

// The functions of optimizer.h for one type.
template <class T>
struct OptimizerKernels {
  void (*gradient_descent)(T* var, const T* grad, int64_t n, T lr);
  void (*momentum)(T* var, T* accum, const T* grad, int64_t n, const MomentumRates<T>& rates);
  void (*keras_momentum)(T* var, T* accum, const T* grad, int64_t n, const MomentumRates<T>& rates);
  void (*adam)(T* var, T* m, T* v, const T* grad, int64_t n, const AdamRates<T>& rates);
  void (*rms_prop)(T* var, T* ms, T* mom, const T* grad, int64_t n, const RMSPropRates<T>& rates);
  void (*centered_rms_prop)(T* var, T* mg, T* ms, T* mom, const T* grad, int64_t n,
                            const RMSPropRates<T>& rates);
  bool (*has_variance)(const T* mg, const T* ms, const T* grad, int64_t n,
                       const RMSPropRates<T>& rates, const RootBounds<T>& bounds);
  void (*adagrad)(T* var, T* accum, const T* grad, int64_t n, const AdagradRates<T>& rates);
  void (*ftrl)(T* var, T* accum, T* linear, const T* grad, int64_t n, const FtrlRates<T>& rates);
};

// Each member returns the kernel that the function of the same name in this folder's headers finds;
// nullptr, or a struct of nullptrs, if there is none.
struct KernelTable {
  UnaryKernel (*unary)(Unary op, DType dtype);
  BinaryKernel (*binary)(Binary op, DType dtype);
  CastKernel (*cast)(DType from, DType to);
  Reduce::Loop (*reduce_loop)(Reduction reduction, DType in, DType out);
  ActivationKernel (*activation)(Activation activation, DType dtype);
  ActivationGradKernel (*activation_grad)(Activation activation, DType dtype);
  BiasKernel (*bias)(DType dtype);
  BiasGradKernel (*bias_grad)(DType dtype, DType result);
  BatchNormKernels (*batch_norm)(DType dtype);
  FusedBatchNormKernels (*fused_batch_norm)(DType dtype, NormActivation activation);
  DepthwiseKernels (*depthwise)(DType dtype);
  SoftmaxKernels (*softmax)(DType dtype);
  PoolKernels (*pool)(DType dtype);
  const OptimizerKernels<float>& (*float_optimizers)();
  const OptimizerKernels<double>& (*double_optimizers)();
};

// The tables: for the instructions that the whole program is compiled for, and for AVX-512
// (x86-64-v4) if the build has it.
namespace base {
[[nodiscard]] const KernelTable& Table();
}
namespace avx512 {
[[nodiscard]] const KernelTable& Table();
}

// The table of one of CpuIsas().
[[nodiscard]] const KernelTable& KernelsOf(CpuIsa isa);

// The table of ChosenCpuIsa().
[[nodiscard]] const KernelTable& Kernels();

}  // namespace tpuest
