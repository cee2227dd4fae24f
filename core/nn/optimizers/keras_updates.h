#pragma once
// The update of one variable by each of Keras' legacy optimizers: the formula on the variable and
// its slots, and the optimizer's part of a checkpoint.

#include <string>
#include <string_view>

#include "core/graph/gradient.h"
#include "core/nn/optimizers/keras_optimizers.h"

namespace tpuest::nn {

// The state that all updates of an optimizer share.
struct KerasState {
  Graph& graph;
  std::string name;     // "training/Ftrl": prefix of slots and hyperparameters
  Value iterations;     // int64 []: completed steps
  Value learning_rate;  // float32 [], for this step
};

// Keras' name for the optimizer: "Ftrl".
[[nodiscard]] std::string_view NameOf(const KerasOptimizer& optimizer);
[[nodiscard]] const KerasOptions& OptionsOf(const KerasOptimizer& optimizer);
[[nodiscard]] const Place& PlaceOf(const KerasOptimizer& optimizer);

// The learning rate: the optimizer's own, or else `fallback`, or else Keras' default.
[[nodiscard]] LearningRate RateOf(const KerasOptimizer& optimizer, std::optional<double> fallback);

// Throws Error kUsage, in Keras' words, for invalid arguments.
void CheckOptions(const KerasOptimizer& optimizer);

// Makes the variables that record the optimizer's hyperparameters in a checkpoint, float32 scalars
// such as training/Ftrl/learning_rate; a schedule writes no learning_rate. Updates do not read
// them.
void SaveNumbers(const KerasOptimizer& optimizer, const KerasState& state,
                 const LearningRate& rate);

class KerasUpdates {
 public:
  KerasUpdates(const KerasOptimizer& optimizer, KerasState state);

  // Builds the update by a gradient of the variable's shape, or by some of its rows: SGD, Adagrad,
  // Ftrl and momentum touch these rows only; Adam and RMSprop without momentum let the slots of
  // every row decay. Makes missing slots.
  [[nodiscard]] Node* Apply(const Variable& variable, const Gradient& gradient) const;

 private:
  const KerasOptimizer& optimizer_;
  KerasState state_;
  Value beta_1_power_;  // Adam: beta to the power of the step number, which starts at 1
  Value beta_2_power_;
};

}  // namespace tpuest::nn
