#pragma once
// tf.train.ExponentialMovingAverage: every trained variable has a shadow,
// <var>/ExponentialMovingAverage, that follows it and is saved beside it, like a slot.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/visit.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

struct ExponentialMovingAverage {
  double decay = 0.999;
  std::optional<std::string> num_updates;
  bool use_in_eval = true;

  template <class V>
  void Visit(V& v) {
    v("decay", decay, {.help = "fraction of the average to keep at each step", .required = true});
    v("num_updates", num_updates,
      {.help =
           "`global_step` limits the decay to (1 + step) / (10 + step); `null` keeps it constant",
       .values = {"global_step"}});
    v("use_in_eval", use_in_eval,
      {.help = "`true` uses the averages instead of the variables in evaluate, predict and export",
       .tpuest = true});
  }
};

inline constexpr std::string_view kAverageSlot = "ExponentialMovingAverage";

// The shadow's name: "dense/kernel/ExponentialMovingAverage"; with a slot_scope (OptimizerNames)
// "dense/kernel/part_0/ExponentialMovingAverage".
[[nodiscard]] std::string AverageName(std::string_view variable, std::string_view slot_scope = "");

// The average that an optimizer keeps of the variables that it trains, and the scope of its
// shadows.
struct KeptAverage {
  const ExponentialMovingAverage* options = nullptr;
  std::string slot_scope;
  std::vector<const Variable*> variables;
  // True: num_updates includes the current step. False: it counts the steps before it, because
  // TensorFlow's combined models increment the step after all their optimizers.
  bool counts_step = true;
};

// The trained variables, in the graph's order.
[[nodiscard]] std::vector<const Variable*> TrainedVariables(const Graph& graph);

// Moves the shadows: shadow -= (1 - decay) * (shadow - variable). Variables and num_updates are
// read after the node `updated`. A shadow starts with its variable's initial value. Throws Error
// kUsage for a decay outside 0 to 1.
[[nodiscard]] Node* ApplyAverages(Graph& graph, const KeptAverage& average, Node* updated);

// TensorFlow's variables_to_restore: maps each variable's name to the name it is restored from.
[[nodiscard]] std::map<std::string, std::string> AveragesToRestore(const KeptAverage& average);

}  // namespace tpuest::nn
