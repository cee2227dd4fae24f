// Implements the headers of this folder by the table of the chosen instruction set.

#include <type_traits>

#include "core/base/error.h"
#include "core/kernels/isa/binary_loop.h"
#include "core/kernels/isa/cpu_isa.h"
#include "core/kernels/isa/kernel_table.h"

namespace tpuest {
namespace {

// Returns a kernel that must exist.
template <class Kernel>
Kernel Found(Kernel kernel, std::string_view what, DType dtype) {
  Check(kernel != nullptr, "no {} of {}", what, NameOf(dtype));
  return kernel;
}

template <class T>
const OptimizerKernels<T>& Optimizers() {
  if constexpr (std::is_same_v<T, float>) {
    return Kernels().float_optimizers();
  } else {
    return Kernels().double_optimizers();
  }
}

}  // namespace

const KernelTable& KernelsOf([[maybe_unused]] CpuIsa isa) {
#ifdef TPUEST_HAS_AVX512
  if (isa == CpuIsa::kAvx512) return avx512::Table();
#endif
  return base::Table();
}

const KernelTable& Kernels() {
  static const KernelTable& table = KernelsOf(ChosenCpuIsa().kernels);
  return table;
}

void ThrowZeroDivisor() { throw Error(Code::kData, "an integer is divided by zero"); }
void ThrowNegativePower() { throw Error(Code::kData, "an integer is raised to a negative power"); }

UnaryKernel FindUnary(Unary op, DType dtype) { return Kernels().unary(op, dtype); }

BinaryKernel FindBinary(Binary op, DType dtype) { return Kernels().binary(op, dtype); }

CastKernel FindCast(DType from, DType to) { return Kernels().cast(from, to); }

ActivationKernel FindActivation(Activation activation, DType dtype) {
  return Found(Kernels().activation(activation, dtype), "activation", dtype);
}

ActivationGradKernel FindActivationGrad(Activation activation, DType dtype) {
  return Found(Kernels().activation_grad(activation, dtype), "activation", dtype);
}

BiasKernel FindBias(DType dtype) { return Found(Kernels().bias(dtype), "bias", dtype); }

BiasGradKernel FindBiasGrad(DType dtype, DType result) {
  return Found(Kernels().bias_grad(dtype, result), "bias", dtype);
}

BatchNormKernels FindBatchNorm(DType dtype) {
  const BatchNormKernels kernels = Kernels().batch_norm(dtype);
  Found(kernels.sum, "batch normalisation", dtype);
  return kernels;
}

FusedBatchNormKernels FindFusedBatchNorm(DType dtype, NormActivation activation) {
  const FusedBatchNormKernels kernels = Kernels().fused_batch_norm(dtype, activation);
  Found(kernels.apply, "batch normalisation", dtype);
  return kernels;
}

DepthwiseKernels FindDepthwise(DType dtype) {
  const DepthwiseKernels kernels = Kernels().depthwise(dtype);
  Found(kernels.forward, "depthwise convolution", dtype);
  return kernels;
}

SoftmaxKernels FindSoftmax(DType dtype) {
  const SoftmaxKernels kernels = Kernels().softmax(dtype);
  Found(kernels.softmax, "softmax", dtype);
  return kernels;
}

PoolKernels FindPool(DType dtype) {
  const PoolKernels kernels = Kernels().pool(dtype);
  Found(kernels.max, "pooling", dtype);
  return kernels;
}

template <class T>
void ApplyGradientDescent(T* var, const T* grad, int64_t n, T lr) {
  Optimizers<T>().gradient_descent(var, grad, n, lr);
}

template <class T>
void ApplyMomentum(T* var, T* accum, const T* grad, int64_t n, const MomentumRates<T>& rates) {
  Optimizers<T>().momentum(var, accum, grad, n, rates);
}

template <class T>
void ApplyKerasMomentum(T* var, T* accum, const T* grad, int64_t n, const MomentumRates<T>& rates) {
  Optimizers<T>().keras_momentum(var, accum, grad, n, rates);
}

template <class T>
void ApplyAdam(T* var, T* m, T* v, const T* grad, int64_t n, const AdamRates<T>& rates) {
  Optimizers<T>().adam(var, m, v, grad, n, rates);
}

template <class T>
void ApplyRMSProp(T* var, T* ms, T* mom, const T* grad, int64_t n, const RMSPropRates<T>& rates) {
  Optimizers<T>().rms_prop(var, ms, mom, grad, n, rates);
}

template <class T>
void ApplyCenteredRMSProp(T* var, T* mg, T* ms, T* mom, const T* grad, int64_t n,
                          const RMSPropRates<T>& rates) {
  Optimizers<T>().centered_rms_prop(var, mg, ms, mom, grad, n, rates);
}

template <class T>
bool HasVariance(const T* mg, const T* ms, const T* grad, int64_t n, const RMSPropRates<T>& rates,
                 const RootBounds<T>& bounds) {
  return Optimizers<T>().has_variance(mg, ms, grad, n, rates, bounds);
}

template <class T>
void ApplyAdagrad(T* var, T* accum, const T* grad, int64_t n, const AdagradRates<T>& rates) {
  Optimizers<T>().adagrad(var, accum, grad, n, rates);
}

template <class T>
void ApplyFtrl(T* var, T* accum, T* linear, const T* grad, int64_t n, const FtrlRates<T>& rates) {
  Optimizers<T>().ftrl(var, accum, linear, grad, n, rates);
}

template void ApplyGradientDescent(float*, const float*, int64_t, float);
template void ApplyGradientDescent(double*, const double*, int64_t, double);
template void ApplyMomentum(float*, float*, const float*, int64_t, const MomentumRates<float>&);
template void ApplyMomentum(double*, double*, const double*, int64_t, const MomentumRates<double>&);
template void ApplyKerasMomentum(float*, float*, const float*, int64_t,
                                 const MomentumRates<float>&);
template void ApplyKerasMomentum(double*, double*, const double*, int64_t,
                                 const MomentumRates<double>&);
template void ApplyAdam(float*, float*, float*, const float*, int64_t, const AdamRates<float>&);
template void ApplyAdam(double*, double*, double*, const double*, int64_t,
                        const AdamRates<double>&);
template void ApplyRMSProp(float*, float*, float*, const float*, int64_t,
                           const RMSPropRates<float>&);
template void ApplyRMSProp(double*, double*, double*, const double*, int64_t,
                           const RMSPropRates<double>&);
template void ApplyCenteredRMSProp(float*, float*, float*, float*, const float*, int64_t,
                                   const RMSPropRates<float>&);
template void ApplyCenteredRMSProp(double*, double*, double*, double*, const double*, int64_t,
                                   const RMSPropRates<double>&);
template bool HasVariance(const float*, const float*, const float*, int64_t,
                          const RMSPropRates<float>&, const RootBounds<float>&);
template bool HasVariance(const double*, const double*, const double*, int64_t,
                          const RMSPropRates<double>&, const RootBounds<double>&);
template void ApplyAdagrad(float*, float*, const float*, int64_t, const AdagradRates<float>&);
template void ApplyAdagrad(double*, double*, const double*, int64_t, const AdagradRates<double>&);
template void ApplyFtrl(float*, float*, float*, const float*, int64_t, const FtrlRates<float>&);
template void ApplyFtrl(double*, double*, double*, const double*, int64_t,
                        const FtrlRates<double>&);

}  // namespace tpuest
