#pragma once
// The values for which an update is sure to leave finite numbers, stated by the record of its op
// (OpDef::bounds). The gate of the CPU engine reads them (core/backend/cpu/update_gate.h): while
// all values are within them it applies a step without looking at its results.
//
// A statement covers kSureSteps steps in a row. The variables are within their bounds before the
// first of them, the other inputs before each one; a row may be updated up to a million times in a
// step. Numbers are float; in double there is more room. A slot whose least value is 0 or more must
// not fall below it by the update itself.

#include <cstdint>
#include <span>
#include <string_view>

namespace tpuest {

inline constexpr int64_t kSureSteps = 4096;

// An input of the op, by its name in the signature: the variable behind a resource, or a tensor.
struct InputBounds {
  std::string_view input;
  double least = 0;
  double most = 0;
};

// The absolute value is at most `most`.
constexpr InputBounds Within(std::string_view input, double most) { return {input, -most, most}; }

struct UpdateBounds {
  std::span<const InputBounds> inputs;  // each floating one and each variable; empty: never sure
  // The update divides by the root of what is left of ms after mg^2 is taken away, plus epsilon,
  // of the next ms and mg (inputs of these names, as grad, rho and indices): no bounds of its
  // inputs make it finite, so the gate computes that difference before each step.
  bool divides_by_root_of_variance = false;

  [[nodiscard]] constexpr bool never_sure() const { return inputs.empty(); }
  // nullptr: the input is not stated.
  [[nodiscard]] constexpr const InputBounds* Find(std::string_view input) const {
    for (const InputBounds& bounds : inputs) {
      if (bounds.input == input) return &bounds;
    }
    return nullptr;
  }
};

// States that no input is sure: the gate looks at the results of every step.
inline constexpr UpdateBounds kNeverSure;

}  // namespace tpuest
