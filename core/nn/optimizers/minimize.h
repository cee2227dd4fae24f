#pragma once
// Makes a train_op from a loss: gradients, their sum over replicas, clipping, updates, global_step.

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
  bool sums_losses = false;  // the loss is the sum over replicas, as losses with SUM are off TPU
  // True: gradients of embedded rows become dense, as CrossShardOptimizer makes them; false: the
  // optimizer's sparse rule applies to the rows of all replicas.
  bool dense_gradients = true;
  std::optional<double> steps_per_epoch;  // for schedules in epochs
  bool gradient_norm = false;             // return TrainOp::gradient_norm even without clipping
  int heads = 1;  // number of heads in a MultiHead: it changes the names that Keras' optimizers use
  std::vector<Node*> updates;  // moving averages, run in the same step
  // By variable: a constraint applied after each of its updates, in the same step.
  std::map<std::string, Constraint> constraints;
  // Name patterns of layers whose outputs the backward pass recomputes.
  std::vector<std::string> remat;
  TableTraining tables;  // trained by their own optimizers, not the model's
};

struct TrainOp {
  Node* node = nullptr;  // NoOp after all updates and global_step += 1
  Value learning_rate;   // float32 []
  // float32 [], before clipping; valid() with clip_by_global_norm, or if the options ask for it.
  Value gradient_norm;
  // The gradients by variable, over all replicas, before clipping; for embedded rows only the rows
  // that were looked up.
  std::map<std::string, Value> gradients;
};

// Updates all trainable variables that the loss depends on. `loss` is this replica's, float32 [];
// gradients (of loss / replicas for MEAN) are summed over replicas, then clipped. Throws Error
// kUsage, at the optimizer's place, for invalid arguments and if no variable is trained.
[[nodiscard]] TrainOp Minimize(Value loss, const AnyOptimizer& optimizer,
                               const MinimizeOptions& options);

// A premade estimator's optimizer and the variables that it trains.
struct OptimizerPart {
  PartOptimizer optimizer;
  // The learning rate if the optimizer names none; absent: the optimizer's default.
  std::optional<double> default_learning_rate;
  std::string scope;          // trains variables under "<scope>/"; "": all
  OptimizerNames names = {};  // for optimizers of tf.train; those of Keras use training/...
};

// The averages that optimizers keep: one over all trained variables, or one per part of a model
// over that part's variables.
[[nodiscard]] std::vector<KeptAverage> AveragesOf(const Graph& graph,
                                                  const AnyOptimizer& optimizer);
[[nodiscard]] std::vector<KeptAverage> AveragesOf(const Graph& graph,
                                                  std::span<const OptimizerPart> parts);

// The averages without embedding tables, which the model's optimizers do not train.
[[nodiscard]] std::vector<KeptAverage> WithoutTables(std::vector<KeptAverage> averages,
                                                     const TableTraining& tables);

// Updates the variables of each part of a model by the part's own optimizer. The gradients are
// computed once, as the mean over replicas. A variable belongs to the first part whose scope
// contains it, or to the first part if none does (tables that several columns share). Keras'
// optimizers: the first part counts its steps by global_step, part i > 0 by its own
// training/<name>/iter; slots are training/<name>/<variable>/<slot>, hyperparameters
// training/<name>/learning_rate and so on; if a name repeats, the later part gets <name>_1. Each
// head of a MultiHead takes a name, so two heads leave training_2/.... Optimizers of tf.train count
// by global_step. learning_rate and gradient_norm of the result are those of the first part. Throws
// as Minimize does.
[[nodiscard]] TrainOp MinimizeParts(Value loss, std::span<const OptimizerPart> parts,
                                    const MinimizeOptions& options);

}  // namespace tpuest::nn
