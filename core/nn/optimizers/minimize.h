#pragma once
// Makes a train_op of a loss: gradients, their sum over replicas, clipping, updates, global_step.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/nn/constraints.h"
#include "core/nn/optimizers/premade_optimizers.h"
#include "core/nn/optimizers/table_training.h"

namespace tpuest::nn {

struct MinimizeOptions {
  int replicas = 1;
  bool sums_losses = false;  // the loss is the replicas' sum, as losses are with SUM off TPU
  // True: gradients of embedded rows become whole tensors, as CrossShardOptimizer makes them;
  // false: the optimizer's sparse rule, over the rows of all replicas.
  bool dense_gradients = true;
  std::optional<double> steps_per_epoch;  // for schedules in epochs
  bool gradient_norm = false;             // TrainOp has it also without clipping
  int heads = 1;                          // of a MultiHead: name what Keras' optimizers keep
  std::vector<Node*> updates;             // moving averages: run in the same step
  // By variable: each of its updates is followed by them, in the same step.
  std::map<std::string, Constraint> constraints;
  // Patterns of names of layers whose results the backward pass computes again.
  std::vector<std::string> remat;
  TableTraining tables;  // trained by their own optimizers, whatever the model's
};

struct TrainOp {
  Node* node = nullptr;  // NoOp after all updates and global_step += 1
  Value learning_rate;   // float32 []
  Value gradient_norm;   // float32 [], before clipping; valid() with clip_by_global_norm, or if
                         // asked for
  // The gradients by variable, over all replicas, before clipping; of embedded rows those that are
  // there.
  std::map<std::string, Value> gradients;
};

// Updates all trainable variables that the loss depends on. loss: this replica's, float32 [];
// gradients are summed over replicas (of the loss / replicas for MEAN), then clipped. Errors carry
// the optimizer's place; throws Error kUsage if no variable is trained and for arguments that
// cannot be.
[[nodiscard]] TrainOp Minimize(Value loss, const AnyOptimizer& optimizer,
                               const MinimizeOptions& options);

// A premade estimator's optimizer and the variables that it trains.
struct OptimizerPart {
  PartOptimizer optimizer;
  // The rate where the optimizer names none; absent: the optimizer's default.
  std::optional<double> default_learning_rate;
  std::string scope;          // variables under "<scope>/"; "": all
  OptimizerNames names = {};  // of tf.train's; Keras' are training/...
};

// The averages that optimizers keep: one of all variables that are trained, and those of a model's
// parts, each of its own.
[[nodiscard]] std::vector<KeptAverage> AveragesOf(const Graph& graph,
                                                  const AnyOptimizer& optimizer);
[[nodiscard]] std::vector<KeptAverage> AveragesOf(const Graph& graph,
                                                  std::span<const OptimizerPart> parts);

// The averages without tables, which no optimizer of a model trains.
[[nodiscard]] std::vector<KeptAverage> WithoutTables(std::vector<KeptAverage> averages,
                                                     const TableTraining& tables);

// Updates the variables of each part of a model by an optimizer of its own, the gradients computed
// once, as mean over replicas. A variable belongs to the first part whose scope it stands under, or
// to the first of all (tables that several columns share). Of Keras' optimizers the first part
// counts its steps by global_step, part i > 0 by its own training/<name>/iter; slots are
// training/<name>/<variable>/<slot>, the optimizer's numbers training/<name>/learning_rate and so
// on; a part of the same name as one before is <name>_1. Each of several heads takes a name for
// itself, so that two leave training_2/... tf.train's count by global_step.
// learning_rate and gradient_norm are the first part's. Errors as above.
[[nodiscard]] TrainOp MinimizeParts(Value loss, std::span<const OptimizerPart> parts,
                                    const MinimizeOptions& options);

}  // namespace tpuest::nn
