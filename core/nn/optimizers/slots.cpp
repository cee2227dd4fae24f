#include "core/nn/optimizers/slots.h"

#include "core/nn/initializers.h"

namespace tpuest::nn {

Variable& GetOrCreateSlot(Graph& graph, const std::string& name, DType dtype, const Shape& shape,
                          double initial) {
  Variable* const there = graph.FindVariable(name);
  if (there != nullptr) return *there;
  const Value value = InitialValue(graph, name, dtype, shape, ConstantInitializer{initial});
  return *graph.AddVariable(name, dtype, shape, value, {.trainable = false});
}

}  // namespace tpuest::nn
