#pragma once
// Bounds inputs of updates that exist only after other updates of the step have run, so that the
// gate (update_gate.h) cannot look at them before it lets the step write.

#include <functional>
#include <limits>

#include "core/graph/graph.h"

namespace tpuest {

struct ValueRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();

  [[nodiscard]] bool Contains(const ValueRange& other) const {
    return least <= other.least && other.most <= most;
  }
};

// Returns the range of a floating-point variable between updates, given its handle.
using VariableRange = std::function<ValueRange(const Node& handle)>;

// Returns a range that holds all elements of a value, computed from variables, constants and the
// ops between them. Integer variables are counters, and not negative.
[[nodiscard]] ValueRange RangeOf(const Value& value, const VariableRange& variable);

// Whether the update writes its input 1 over the variable.
[[nodiscard]] bool Replaces(const Node& update);

// Whether the update moves a variable towards a finite value by a share of 0 to 1 of their
// difference, as a moving average does. The variable then stays between its old values and those.
[[nodiscard]] bool AveragesFinite(const Node& update, const VariableRange& variable);

}  // namespace tpuest
