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
  Gradient gradient;  // a Value, or IndexedSlices: a replica's own
  int replicas = 1;   // whose IndexedSlices stand side by side
};

// What the model's optimizer trains, and what those of tables do.
struct AllGradients {
  std::vector<Trained> model;
  std::vector<Trained> tables;
};

// The gradients of the replicas' mean loss (or of the sum). Those of whole variables are summed
// over the replicas. Rows are not yet: TensorFlow's strategies put all replicas' IndexedSlices in
// one, and what clips or measures sees each. Throws Error kUsage, in TensorFlow's words, if the
// model's optimizer has no variable to train.
[[nodiscard]] AllGradients GradientsOverReplicas(Value loss, bool mean,
                                                 const MinimizeOptions& options);

// The gradients by variable; of embedded rows those that are there, of several replicas all.
[[nodiscard]] std::map<std::string, Value> ByVariable(const AllGradients& all);

// The update of each table, by its optimizer in `options`.
[[nodiscard]] std::vector<Node*> UpdateTables(Graph& graph, const std::vector<Trained>& tables,
                                              const MinimizeOptions& options);

// The gradient over all replicas, the same on each: what an optimizer takes.
[[nodiscard]] Gradient OverReplicas(const Trained& trained);

// Sums each row's values in each lookup of distinct ids: what clips or measures gradients does this
// first.
void SumInLookups(std::vector<Trained>& trained);

// Multiplies every gradient by a float32 [].
void ScaleBy(std::vector<Trained>& trained, Value factor);

// The norm of all gradients as one vector, float32 [] (tf.linalg.global_norm).
[[nodiscard]] Value GlobalNorm(const std::vector<Trained>& trained);

// Clips all together as tf.clip_by_global_norm: every gradient times clip_norm * min(1 / norm, 1 /
// clip_norm). Returns the norm. A norm that is not finite makes every gradient NaN.
Value ClipByGlobalNorm(std::vector<Trained>& trained, double clip_norm);

// Clips one as tf.clip_by_norm: a gradient times norm / max(norm, its own); and each of its
// elements to [-most, most].
void ClipByNorm(Trained& trained, double clip_norm);
void ClipByValue(Trained& trained, double most);

// The last node of a variable's update: `update`, and behind it the variable's constraint, where it
// has one, on the whole variable.
[[nodiscard]] Node* WithConstraint(const MinimizeOptions& options, const Variable& variable,
                                   Node* update);

// Applies tf.train's optimizer to all of them: returns the last nodes of what it does. The rate and
// the norm before clipping go to `result`. Throws Error kUsage for arguments that cannot be.
[[nodiscard]] std::vector<Node*> ApplyTrainOptimizer(Graph& graph, const AnyOptimizer& optimizer,
                                                     const OptimizerNames& names,
                                                     std::vector<Trained> trained,
                                                     const MinimizeOptions& options,
                                                     TrainOp& result);

// The train_op: global_step += 1 after `updates`, the averages behind or, those that do not count
// the step, before it.
[[nodiscard]] Node* TrainOpAfter(Graph& graph, const std::vector<Node*>& updates,
                                 const std::vector<KeptAverage>& averages);

}  // namespace tpuest::nn
