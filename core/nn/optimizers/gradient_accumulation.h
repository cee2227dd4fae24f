#pragma once
// Applies the mean of several steps' gradients at once: gradient_accumulation_steps, as in Keras 3.

#include <vector>

#include "core/nn/optimizers/optimizer_updates.h"
#include "core/nn/optimizers/trained_gradients.h"

namespace tpuest::nn {

// A step is one batch and one global_step. Every `steps`-th step applies the mean of the gradients
// of its group. A group starts at each multiple of `steps`, also in a resumed run: the checkpoint
// holds the sums as <variable>/GradientAccumulator.
class GradientAccumulation {
 public:
  // Replaces each gradient by its mean over the group so far, dense and over all replicas: rows of
  // embeddings that no example of the group uses get a zero gradient, which is applied like any
  // other.
  GradientAccumulation(Graph& graph, int64_t steps, const OptimizerNames& names,
                       std::vector<Trained>& trained);

  // Returns the last nodes of a step with the updates `applied`. Variables keep the result of an
  // update only at the end of a group.
  [[nodiscard]] std::vector<Node*> Finish(const std::vector<Node*>& applied) const;

 private:
  Graph& graph_;
  Value ends_group_;         // bool []
  std::vector<Node*> sums_;  // the sums for the next step: zero after the end of a group
};

}  // namespace tpuest::nn
