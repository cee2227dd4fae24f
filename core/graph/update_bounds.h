#pragma once
// The input values for which an update is sure to leave finite numbers, stated by the record of its
// op (OpDef::bounds). The CPU engine's update gate reads them (core/backend/cpu/update_gate.h):
// while all values are within bounds, it applies a step without checking its results.
//
// A statement covers kSureSteps consecutive steps. The variables are within their bounds before the
// first of them, the other inputs before each one; a step may update a row up to a million times.
// Numbers are float; double leaves more room. The update itself must not move a slot whose least
// value is 0 or more below that value.

#include <cstdint>
#include <span>
#include <string_view>

namespace tpuest {

inline constexpr int64_t kSureSteps = 4096;

// The bounds of an input of the op, named as in the signature: of the variable behind a resource,
// or of a tensor.
struct InputBounds {
  std::string_view input;
  double least = 0;
  double most = 0;
};

// Bounds the absolute value by `most`.
constexpr InputBounds Within(std::string_view input, double most) { return {input, -most, most}; }

struct UpdateBounds {
  // bounds of every variable and every floating-point input; empty: never sure
  std::span<const InputBounds> inputs;
  // The update divides by the root of ms - mg^2 + epsilon, with the new ms and mg (inputs of these
  // names, as are grad, rho and indices). No bounds of its inputs keep that finite, so the gate
  // computes the difference before each step.
  bool divides_by_root_of_variance = false;

  [[nodiscard]] constexpr bool never_sure() const { return inputs.empty(); }
  // nullptr: the input has no stated bounds.
  [[nodiscard]] constexpr const InputBounds* Find(std::string_view input) const {
    for (const InputBounds& bounds : inputs) {
      if (bounds.input == input) return &bounds;
    }
    return nullptr;
  }
};

// States that the update is never sure: the gate checks the results of every step.
inline constexpr UpdateBounds kNeverSure;

}  // namespace tpuest
