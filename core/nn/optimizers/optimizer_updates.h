#pragma once
// The update of one variable by each optimizer: TensorFlow's formula on the variable and its slots.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/nn/optimizers/premade_optimizers.h"

namespace tpuest::nn {

// A slot is saved beside its variable, under TensorFlow's name: "dense/kernel" and
// "dense/kernel/Momentum"; for a partitioned variable "dense/kernel/part_0/Momentum".
[[nodiscard]] std::string SlotName(std::string_view variable, std::string_view slot,
                                   const OptimizerNames& names = {});

// The inputs of one variable's update.
struct Update {
  Graph& graph;
  const Variable& variable;
  Value learning_rate;  // float32 []
  OptimizerNames names = {};
};

// Builds the update by a gradient of the variable's shape. Makes missing slots.
[[nodiscard]] Node* ApplyDense(const AnyOptimizer& optimizer, const Update& update, Value gradient);

// Builds the update by a gradient that is zero except for some rows, using the optimizer's sparse
// rule: Adam, LARS and AdamWeightDecay touch every row, all others these rows only.
[[nodiscard]] Node* ApplySparse(const AnyOptimizer& optimizer, const Update& update,
                                const IndexedSlices& gradient);

// The nodes that run after all variables are updated (Adam's powers); may be empty.
[[nodiscard]] std::vector<Node*> Finish(const AnyOptimizer& optimizer, Graph& graph,
                                        const OptimizerNames& names = {});

// Throws Error kUsage, in TensorFlow's words, for invalid arguments.
void CheckOptions(const AnyOptimizer& optimizer);

}  // namespace tpuest::nn
