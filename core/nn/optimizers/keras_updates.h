#pragma once
// One variable's update by each of Keras' legacy optimizers: its formula on the variable and its
// slots, and what a checkpoint holds of the optimizer.

#include <string>
#include <string_view>

#include "core/graph/gradient.h"
#include "core/nn/optimizers/keras_optimizers.h"

namespace tpuest::nn {

// The common part of an optimizer's updates.
struct KerasState {
  Graph& graph;
  std::string name;     // "training/Ftrl": where slots and numbers stand
  Value iterations;     // int64 []: steps done
  Value learning_rate;  // float32 [], of this step
};

// Keras's word for the optimizer: "Ftrl".
[[nodiscard]] std::string_view NameOf(const KerasOptimizer& optimizer);
[[nodiscard]] const KerasOptions& OptionsOf(const KerasOptimizer& optimizer);
[[nodiscard]] const Place& PlaceOf(const KerasOptimizer& optimizer);

// The rate: the optimizer's own, else `fallback`, else Keras's default.
[[nodiscard]] LearningRate RateOf(const KerasOptimizer& optimizer, std::optional<double> fallback);

// Throws Error kUsage, in Keras's words, for arguments that cannot be.
void CheckOptions(const KerasOptimizer& optimizer);

// Makes the variables that tell a checkpoint's reader the optimizer's numbers, float32 scalars such
// as training/Ftrl/learning_rate; a schedule leaves no learning_rate. Updates do not read them.
void SaveNumbers(const KerasOptimizer& optimizer, const KerasState& state,
                 const LearningRate& rate);

class KerasUpdates {
 public:
  KerasUpdates(const KerasOptimizer& optimizer, KerasState state);

  // The update by a gradient of the variable's shape, or by some rows of it: SGD, Adagrad, Ftrl and
  // momentum touch these rows alone, Adam and RMSprop without momentum let the slots of every row
  // decay. Slots are made where they are missing.
  [[nodiscard]] Node* Apply(const Variable& variable, const Gradient& gradient) const;

 private:
  const KerasOptimizer& optimizer_;
  KerasState state_;
  Value beta_1_power_;  // Adam: beta to the power of the step's number, the first being 1
  Value beta_2_power_;
};

}  // namespace tpuest::nn
