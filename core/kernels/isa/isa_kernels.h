#pragma once
// The declarations of the sources that are compiled once per vector instruction set; -DTPUEST_ISA=
// gives the namespace. These sources throw nothing, and call no function that is not inlined except
// those of <cmath>: the linker keeps one copy of an inline function, and might keep a copy that
// some processors cannot run. (The build makes such copies local to the object, and a test looks
// for others.)

#include "core/kernels/isa/kernel_table.h"

#ifndef TPUEST_ISA  // for an editor or a checker, which reads this file by itself
#define TPUEST_ISA base
#endif

namespace tpuest::TPUEST_ISA {

[[nodiscard]] UnaryKernel FindUnary(Unary op, DType dtype);
[[nodiscard]] BinaryKernel FindBinary(Binary op, DType dtype);
// Ops with bool results.
[[nodiscard]] BinaryKernel FindComparison(Binary op, DType dtype);
[[nodiscard]] CastKernel FindCast(DType from, DType to);
[[nodiscard]] Reduce::Loop FindReduceLoop(Reduction reduction, DType in, DType out);
[[nodiscard]] ActivationKernel FindActivation(Activation activation, DType dtype);
[[nodiscard]] ActivationGradKernel FindActivationGrad(Activation activation, DType dtype);
[[nodiscard]] BiasKernel FindBias(DType dtype);
[[nodiscard]] BiasGradKernel FindBiasGrad(DType dtype, DType result);
[[nodiscard]] BatchNormKernels FindBatchNorm(DType dtype);
[[nodiscard]] FusedBatchNormKernels FindFusedBatchNorm(DType dtype, NormActivation activation);
[[nodiscard]] DepthwiseKernels FindDepthwise(DType dtype);
[[nodiscard]] SoftmaxKernels FindSoftmax(DType dtype);
[[nodiscard]] PoolKernels FindPool(DType dtype);
[[nodiscard]] const OptimizerKernels<float>& FloatOptimizers();
[[nodiscard]] const OptimizerKernels<double>& DoubleOptimizers();

}  // namespace tpuest::TPUEST_ISA
