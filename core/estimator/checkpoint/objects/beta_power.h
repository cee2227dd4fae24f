#pragma once
// Adam's beta1_power and beta2_power, and the step count that Keras stores instead.

#include <cstdint>
#include <optional>

namespace tpuest {

// Returns beta^(steps + 1) in float32 as tf.train's Adam computes it, by one product per step.
[[nodiscard]] float BetaPower(float beta, int64_t steps);

// Returns the smallest number of steps whose BetaPower is `power`; nullopt if there is none, or if
// the power no longer changes.
[[nodiscard]] std::optional<int64_t> StepsOfBetaPower(float beta, float power);

}  // namespace tpuest
