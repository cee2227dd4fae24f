#pragma once

#include <functional>

#include "core/graph/graph.h"

namespace tpuest {

// A streaming metric, as in tf.metrics: `update` adds a batch to local variables, `value`, float32
// [], reads the result.
struct MetricOps {
  Value value;
  Node* update = nullptr;
  // Adds the value, float32 [], that a first batch would leave, and reads no variable for it; empty
  // where only the variables give it.
  std::function<Value()> of_batch = {};
};

}  // namespace tpuest
