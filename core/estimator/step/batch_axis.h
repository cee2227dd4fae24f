#pragma once
// TPUEstimator's batch_axis: inputs whose batch is on another axis than the first, such as images
// in HWCN with [3, 0]. Features come first, sorted by name, then labels.
//
// Inside, batches have their batch on axis 0, so rows are cut, padded and counted there alone. A
// stream's batches are turned as they are read, and turned back in the graph: model_fn sees, on
// each replica, its part of the batch in the order of the axes that the input_fn gave.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// A stream of the same batches with each tensor's axis of `batch_axis` moved to the front; the
// stream itself where its spec says batch_first. Error kUsage, in TensorFlow's words, for axes that
// are not those of the stream's tensors.
[[nodiscard]] std::unique_ptr<BatchStream> BatchFirst(std::unique_ptr<BatchStream> stream,
                                                      const std::vector<int64_t>& batch_axis);

// A model_fn that is given inputs, and features of a ServingInputReceiver, with the batch on axis 0
// and hands them on with the batch where `batch_axis` says; nullopt: the model_fn itself.
[[nodiscard]] ModelFn WithBatchAxis(ModelFn model_fn,
                                    const std::optional<std::vector<int64_t>>& batch_axis);

}  // namespace tpuest
