#pragma once
// Adam's beta1_power and beta2_power, and the count of steps that Keras keeps instead.

#include <cstdint>
#include <optional>

namespace tpuest {

// beta^(steps + 1) in float32 as tf.train's Adam arrives at it, by one product a step.
[[nodiscard]] float BetaPower(float beta, int64_t steps);

// The first number of steps whose BetaPower is this; nullopt if there is none, or if the power no
// longer changes.
[[nodiscard]] std::optional<int64_t> StepsOfBetaPower(float beta, float power);

}  // namespace tpuest
