#include "core/nn/global_step.h"

namespace tpuest::nn {

Variable* GetOrCreateGlobalStep(Graph& graph) {
  Variable* const there = graph.FindVariable(kGlobalStepName);
  if (there != nullptr) return there;
  const Value zero = graph.Scalar<int64_t>(0, "global_step/Initializer/zeros");
  return graph.AddVariable(std::string(kGlobalStepName), DType::kInt64, Shape(), zero,
                           {.trainable = false});
}

}  // namespace tpuest::nn
