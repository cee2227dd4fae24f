#pragma once
// The check that a TPU gets no int64, which is none of its types.

#include <vector>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// The variable global_step alone may be int64 on the device. Error kUsage, at the job's line that
// makes the column, for an int64 feature or label that a node on the device reads. Columns that
// only host ops read, or that predictions hand through, may be int64.
struct DeviceInput {
  TensorSpec column;
  Value value;
  bool is_label = false;
};
void RefuseInt64OnDevice(const Graph& graph, const TPUEstimatorSpec& spec,
                         const std::vector<DeviceInput>& inputs);

}  // namespace tpuest
