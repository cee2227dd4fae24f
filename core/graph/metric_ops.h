#pragma once

#include "core/graph/graph.h"

namespace tpuest {

// A streaming metric, as in tf.metrics: `update` adds a batch to local variables, `value`, float32
// [], reads the result.
struct MetricOps {
  Value value;
  Node* update = nullptr;
};

}  // namespace tpuest
