#pragma once
// Gradients of several steps, applied at once: gradient_accumulation_steps, as Keras 3 has it.

#include <vector>

#include "core/nn/optimizers/optimizer_updates.h"
#include "core/nn/optimizers/trained_gradients.h"

namespace tpuest::nn {

// A step is one batch and one global_step; each steps-th applies the mean of the gradients since
// the one before. A group begins at every multiple of `steps`, also in a run that was resumed: the
// sums stand in the checkpoint, at <variable>/GradientAccumulator.
class GradientAccumulation {
 public:
  // Makes of each gradient the mean over the group so far, whole and over all replicas: rows of
  // embeddings that no example of the group has are zero, and are applied like all others.
  GradientAccumulation(Graph& graph, int64_t steps, const OptimizerNames& names,
                       std::vector<Trained>& trained);

  // The last nodes of a step whose updates are `applied`: only where a group ends do the variables
  // that these update keep what they made of them.
  [[nodiscard]] std::vector<Node*> Finish(const std::vector<Node*>& applied) const;

 private:
  Graph& graph_;
  Value ends_group_;         // bool []
  std::vector<Node*> sums_;  // of the next step: zero where a group ends
};

}  // namespace tpuest::nn
