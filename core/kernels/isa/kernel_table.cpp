#include "core/kernels/isa/kernel_table.h"

#include "core/kernels/isa/isa_kernels.h"

namespace tpuest::TPUEST_ISA {

const KernelTable& Table() {
  static constexpr KernelTable kTable = {.unary = FindUnary,
                                         .binary = FindBinary,
                                         .cast = FindCast,
                                         .reduce_loop = FindReduceLoop,
                                         .activation = FindActivation,
                                         .activation_grad = FindActivationGrad,
                                         .bias = FindBias,
                                         .bias_grad = FindBiasGrad,
                                         .batch_norm = FindBatchNorm,
                                         .fused_batch_norm = FindFusedBatchNorm,
                                         .depthwise = FindDepthwise,
                                         .softmax = FindSoftmax,
                                         .pool = FindPool,
                                         .float_optimizers = FloatOptimizers,
                                         .double_optimizers = DoubleOptimizers};
  return kTable;
}

}  // namespace tpuest::TPUEST_ISA
