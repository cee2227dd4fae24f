#pragma once
// The optimizers of premade estimators: those of Keras (TensorFlow 2), or of tf.train
// (tf.compat.v1.estimator).

#include <string>
#include <variant>

#include "core/nn/optimizers/keras_optimizers.h"
#include "core/nn/optimizers/optimizers.h"

namespace tpuest::nn {

using PremadeOptimizer =
    std::variant<SGD, Adam, RMSprop, Adagrad, Ftrl, GradientDescentOptimizer, MomentumOptimizer,
                 AdamOptimizer, AdagradOptimizer, RMSPropOptimizer, FtrlOptimizer>;

// An optimizer by its family, which decides how it counts steps and names slots.
using PartOptimizer = std::variant<KerasOptimizer, AnyOptimizer>;
[[nodiscard]] PartOptimizer ByFamily(const PremadeOptimizer& optimizer);
[[nodiscard]] const Place& PlaceOf(const PartOptimizer& optimizer);

// The names under which tf.train's optimizers save state: slots "<variable>/<slot_scope>/Adam",
// Adam's powers "<power_beginning>beta1_power<power_ending>".
struct OptimizerNames {
  std::string slot_scope = {};
  std::string power_beginning = {};
  std::string power_ending = {};
};

// The average that the optimizer keeps of its variables; nullptr if it keeps none or belongs to
// Keras.
[[nodiscard]] const ExponentialMovingAverage* AverageOf(const PartOptimizer& optimizer);
[[nodiscard]] const ExponentialMovingAverage* AverageOf(const AnyOptimizer& optimizer);

}  // namespace tpuest::nn
