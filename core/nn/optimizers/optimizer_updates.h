#pragma once
// One variable's update by each optimizer: TensorFlow's formula on the variable and its slots.

#include <string>
#include <string_view>
#include <vector>

#include "core/graph/gradient.h"
#include "core/nn/optimizers/premade_optimizers.h"

namespace tpuest::nn {

// A slot lives beside its variable in the checkpoint, as TensorFlow has it: "dense/kernel" and
// "dense/kernel/Momentum"; of a variable in parts "dense/kernel/part_0/Momentum".
[[nodiscard]] std::string SlotName(std::string_view variable, std::string_view slot,
                                   const OptimizerNames& names = {});

// The inputs of one variable's update.
struct Update {
  Graph& graph;
  const Variable& variable;
  Value learning_rate;  // float32 []
  OptimizerNames names = {};
};

// The update by a gradient of the variable's shape. Slots are made where they are missing.
[[nodiscard]] Node* ApplyDense(const AnyOptimizer& optimizer, const Update& update, Value gradient);

// The update by a gradient that is zero but for some rows, by the optimizer's rule for those:
// Adam, LARS and AdamWeightDecay touch every row, the others these rows only.
[[nodiscard]] Node* ApplySparse(const AnyOptimizer& optimizer, const Update& update,
                                const IndexedSlices& gradient);

// The nodes that follow when all variables are updated (Adam's powers); may be empty.
[[nodiscard]] std::vector<Node*> Finish(const AnyOptimizer& optimizer, Graph& graph,
                                        const OptimizerNames& names = {});

// Throws Error kUsage, in TensorFlow's words, for arguments that cannot be.
void CheckOptions(const AnyOptimizer& optimizer);

}  // namespace tpuest::nn
