#pragma once
// From a loss to the train_op.

#include <optional>
#include <vector>

#include "core/graph/graph.h"
#include "core/nn/optimizers.h"

namespace tpuest::nn {

// How a job wants its models trained.
struct TrainOptions {
  std::optional<AnyOptimizer> optimizer;  // needed in TRAIN only
  std::optional<double> steps_per_epoch;  // for schedules in epochs
};

struct MinimizeOptions {
  int replicas = 1;
  // Gradients of embedded rows become whole tensors, as CrossShardOptimizer makes them; false: the
  // optimizer's sparse rule (one replica only).
  bool dense_gradients = true;
  std::optional<double> steps_per_epoch;  // for schedules in epochs
  std::vector<Node*> updates;             // moving averages: run in the same step
};

struct TrainOp {
  Node* node = nullptr;  // NoOp after all updates and global_step += 1
  Value learning_rate;   // float32 []
  Value gradient_norm;   // float32 [], before clipping; valid() only with clip_by_global_norm
};

// Updates all trainable variables that the loss depends on. loss: this replica's, float32 [];
// gradients are summed over replicas (of the loss / replicas for MEAN), then clipped. Errors carry
// the optimizer's place; Error kUsage if no variable is trained.
[[nodiscard]] TrainOp Minimize(Value loss, const AnyOptimizer& optimizer,
                               const MinimizeOptions& options);

}  // namespace tpuest::nn
