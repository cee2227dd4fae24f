#pragma once
// Penalties on weights, added to the loss: tf.keras.regularizers.

#include <optional>
#include <string_view>
#include <variant>

#include "core/base/visit.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

// The penalty l1 * sum |w|.
struct L1Regularizer {
  static constexpr std::string_view kType = "l1";
  static constexpr std::string_view kSummary = "penalty: the sum of absolute values";
  static constexpr std::string_view kAliases[] = {"L1"};
  double l1 = 0.01;
  template <class V>
  void Visit(V& v) {
    v("l1", l1, {.help = "factor of the sum of absolute values"});
  }
};

// The penalty l2 * sum w^2.
struct L2Regularizer {
  static constexpr std::string_view kType = "l2";
  static constexpr std::string_view kSummary = "penalty: the sum of squares";
  static constexpr std::string_view kAliases[] = {"L2"};
  double l2 = 0.01;
  template <class V>
  void Visit(V& v) {
    v("l2", l2, {.help = "factor of the sum of squares"});
  }
};

// The penalty l1 * sum |w| + l2 * sum w^2.
struct L1L2Regularizer {
  static constexpr std::string_view kType = "l1_l2";
  static constexpr std::string_view kSummary = "penalty: both sums";
  static constexpr std::string_view kAliases[] = {"L1L2"};
  double l1 = 0.01;
  double l2 = 0.01;
  template <class V>
  void Visit(V& v) {
    v("l1", l1, {.help = "factor of the sum of absolute values"});
    v("l2", l2, {.help = "factor of the sum of squares"});
  }
};

using Regularizer = std::optional<std::variant<L1Regularizer, L2Regularizer, L1L2Regularizer>>;

// Returns the penalty on `weights`, [] of their dtype; not valid() if there is no regularizer.
// Throws Error kUsage for a factor below 0.
[[nodiscard]] Value Penalty(const Regularizer& regularizer, Value weights);

}  // namespace tpuest::nn
