#pragma once

#include <functional>

#include "core/graph/graph.h"

namespace tpuest {

// A streaming metric, as in tf.metrics: `update` adds a batch to local variables; `value`, float32
// [], computes the result from them.
struct MetricOps {
  Value value;
  Node* update = nullptr;
  // Adds the value, float32 [], that a first batch alone would give, without reading a variable;
  // empty if only the variables provide it.
  std::function<Value()> of_batch = {};
};

}  // namespace tpuest
