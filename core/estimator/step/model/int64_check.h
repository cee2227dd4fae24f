#pragma once
// Checks that a TPU gets no int64, which it does not support.

#include <vector>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// On the device only the variable global_step may be int64. Throws Error kUsage, at the job's line
// for the column, for an int64 feature or label that a node on the device reads. Columns that only
// host ops read, or that predictions pass through, may be int64.
struct DeviceInput {
  TensorSpec column;
  Value value;
  bool is_label = false;
};
void RefuseInt64OnDevice(const Graph& graph, const TPUEstimatorSpec& spec,
                         const std::vector<DeviceInput>& inputs);

}  // namespace tpuest
