#include "core/estimator/checkpoint/objects/beta_power.h"

#include <cmath>

namespace tpuest {
namespace {

// Computes the power after one more step; returns false if it no longer changes: 0, infinite, or
// the smallest number.
bool Advance(float beta, float& power) {
  const float next = power * beta;
  const bool moves = std::isfinite(next) && std::fabs(next) != std::fabs(power);
  power = next;
  return moves;
}

}  // namespace

float BetaPower(float beta, int64_t steps) {
  float power = beta;
  for (int64_t i = 0; i < steps && Advance(beta, power); ++i) {
  }
  return power;
}

std::optional<int64_t> StepsOfBetaPower(float beta, float power) {
  int64_t steps = 0;
  for (float at = beta; at != power; ++steps) {
    if (!Advance(beta, at)) return std::nullopt;
  }
  float next = power;
  if (!Advance(beta, next)) return std::nullopt;
  return steps;
}

}  // namespace tpuest
