#pragma once
// The gradients of the variables that a loss trains, on their way to the optimizers.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/graph/gradient.h"
#include "core/graph/graph.h"
#include "core/nn/optimizers/minimize.h"

namespace tpuest::nn {

struct Trained {
  const Variable* variable = nullptr;
  Gradient gradient;  // a Value, or this replica's own IndexedSlices
  int replicas = 1;   // replicas whose IndexedSlices will be concatenated
};

// The variables that the model's optimizer trains, and the tables with their own optimizers.
struct AllGradients {
  std::vector<Trained> model;
  std::vector<Trained> tables;
};

// Returns the gradients of the mean (or the sum) of the replicas' losses. Dense gradients are
// summed over the replicas. Sparse ones are not summed yet: TensorFlow's strategies concatenate the
// IndexedSlices of all replicas, and clipping and norms see each of them. Throws Error kUsage, in
// TensorFlow's words, if the model's optimizer has no variable to train.
[[nodiscard]] AllGradients GradientsOverReplicas(Value loss, bool mean,
                                                 const MinimizeOptions& options);

// Returns the gradients by variable; for embedded rows the present rows of all replicas.
[[nodiscard]] std::map<std::string, Value> ByVariable(const AllGradients& all);

// Updates each table by its optimizer in `options`.
[[nodiscard]] std::vector<Node*> UpdateTables(Graph& graph, const std::vector<Trained>& tables,
                                              const MinimizeOptions& options);

// Returns the gradient over all replicas, the same on each, as an optimizer takes it.
[[nodiscard]] Gradient OverReplicas(const Trained& trained);

// Sums the values of each row within each lookup of distinct ids, which clipping and norms require.
void SumInLookups(std::vector<Trained>& trained);

// Multiplies every gradient by a float32 [].
void ScaleBy(std::vector<Trained>& trained, Value factor);

// The norm of all gradients as one vector, float32 [] (tf.linalg.global_norm).
[[nodiscard]] Value GlobalNorm(const std::vector<Trained>& trained);

// Clips all together as tf.clip_by_global_norm: every gradient times clip_norm * min(1 / norm, 1 /
// clip_norm). Returns the norm. A norm that is not finite makes every gradient NaN.
Value ClipByGlobalNorm(std::vector<Trained>& trained, double clip_norm);

// ClipByNorm clips one gradient as tf.clip_by_norm: gradient times clip_norm / max(clip_norm, its
// norm). ClipByValue clips each of its elements to [-most, most].
void ClipByNorm(Trained& trained, double clip_norm);
void ClipByValue(Trained& trained, double most);

// Returns the last node of a variable's update: `update`, followed by the variable's constraint, if
// it has one, on the whole variable.
[[nodiscard]] Node* WithConstraint(const MinimizeOptions& options, const Variable& variable,
                                   Node* update);

// Applies an optimizer of tf.train to all of them and returns the last nodes of the update. Stores
// the rate and the norm before clipping in `result`. Throws Error kUsage for invalid arguments.
[[nodiscard]] std::vector<Node*> ApplyTrainOptimizer(Graph& graph, const AnyOptimizer& optimizer,
                                                     const OptimizerNames& names,
                                                     std::vector<Trained> trained,
                                                     const MinimizeOptions& options,
                                                     TrainOp& result);

// Builds the train_op: global_step += 1 after `updates`; averages that count the step run after it,
// all others before it.
[[nodiscard]] Node* TrainOpAfter(Graph& graph, const std::vector<Node*>& updates,
                                 const std::vector<KeptAverage>& averages);

}  // namespace tpuest::nn
