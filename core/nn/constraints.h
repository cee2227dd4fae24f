#pragma once
// Limits applied to weights after each update: tf.keras.constraints.

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/visit.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

// The axes over which a norm is taken, that is, the input axes of one unit: 0 for a Dense kernel,
// [0, 1, 2] for a Conv2D kernel.
using NormAxes = std::variant<int64_t, std::vector<int64_t>>;
inline constexpr std::string_view kNormAxesHelp =
    "axes of the variable over which each norm is taken: 0 for a Dense kernel, [0, 1, 2] for "
    "Conv2D";

// w * clip(norm, 0, max_value) / (1e-7 + norm).
struct MaxNorm {
  static constexpr std::string_view kType = "max_norm";
  static constexpr std::string_view kSummary = "limits norms to max_value";
  static constexpr std::string_view kAliases[] = {"MaxNorm", "maxnorm"};
  static constexpr std::string_view kKerasModule = "keras.constraints";
  double max_value = 2.0;
  NormAxes axis = int64_t{0};
  template <class V>
  void Visit(V& v) {
    v("max_value", max_value, {.help = "largest norm"});
    v("axis", axis, {.help = kNormAxesHelp});
  }
};

// w * (rate * clip(norm, min_value, max_value) + (1 - rate) * norm) / (1e-7 + norm).
struct MinMaxNorm {
  static constexpr std::string_view kType = "min_max_norm";
  static constexpr std::string_view kSummary =
      "limits norms to the range of min_value to max_value";
  static constexpr std::string_view kAliases[] = {"MinMaxNorm"};
  static constexpr std::string_view kKerasModule = "keras.constraints";
  double min_value = 0.0;
  double max_value = 1.0;
  double rate = 1.0;
  NormAxes axis = int64_t{0};
  template <class V>
  void Visit(V& v) {
    v("min_value", min_value, {.help = "smallest norm"});
    v("max_value", max_value, {.help = "largest norm"});
    v("rate", rate,
      {.help = "fraction of the way to the limits that each step moves; 1 moves all the way"});
    v("axis", axis, {.help = kNormAxesHelp});
  }
};

// w where w >= 0, otherwise 0.
struct NonNeg {
  static constexpr std::string_view kType = "non_neg";
  static constexpr std::string_view kSummary = "sets negative weights to 0";
  static constexpr std::string_view kAliases[] = {"NonNeg", "nonneg"};
  static constexpr std::string_view kKerasModule = "keras.constraints";
  template <class V>
  void Visit(V& /*v*/) {}
};

// w / (1e-7 + norm).
struct UnitNorm {
  static constexpr std::string_view kType = "unit_norm";
  static constexpr std::string_view kSummary = "scales norms to 1";
  static constexpr std::string_view kAliases[] = {"UnitNorm", "unitnorm"};
  static constexpr std::string_view kKerasModule = "keras.constraints";
  NormAxes axis = int64_t{0};
  template <class V>
  void Visit(V& v) {
    v("axis", axis, {.help = kNormAxesHelp});
  }
};

// Gives every ring around the middle of a Conv2D kernel [side, side, channels, filters] one value,
// that of the ring's element on the diagonal.
struct RadialConstraint {
  static constexpr std::string_view kType = "radial_constraint";
  static constexpr std::string_view kSummary =
      "makes square Conv2D kernels constant on each ring around the centre";
  static constexpr std::string_view kAliases[] = {"RadialConstraint"};
  static constexpr std::string_view kKerasModule = "keras.constraints";
  template <class V>
  void Visit(V& /*v*/) {}
};

using Constraint =
    std::optional<std::variant<MaxNorm, MinMaxNorm, NonNeg, UnitNorm, RadialConstraint>>;

// Throws Error kUsage if the constraint does not fit weights of that shape: an axis out of range, a
// kernel that is not square, or an empty range of norms.
void CheckConstraint(const Constraint& constraint, const Shape& shape);

// Returns the weights moved into the limits. There must be a constraint, and CheckConstraint must
// have passed.
[[nodiscard]] Value Constrained(const Constraint& constraint, Value weights);

}  // namespace tpuest::nn
