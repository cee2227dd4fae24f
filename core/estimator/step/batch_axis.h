#pragma once
// TPUEstimator's batch_axis: inputs whose batch is not on the first axis, such as images in HWCN
// with [3, 0]. Features come first, sorted by name, then labels.
//
// Internally the batch is always on axis 0, so rows are split, padded and counted there only. A
// stream's batches are transposed when they are read, and transposed back in the graph: on each
// replica, model_fn sees its part of the batch in the axis order of the input_fn.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// Returns a stream of the same batches with each tensor's axis of `batch_axis` moved to the front;
// returns the stream itself if its spec says batch_first. Throws Error kUsage, in TensorFlow's
// words, for axes that the stream's tensors do not have.
[[nodiscard]] std::unique_ptr<BatchStream> BatchFirst(std::unique_ptr<BatchStream> stream,
                                                      const std::vector<int64_t>& batch_axis);

// Returns a model_fn that takes inputs, and features of a ServingInputReceiver, with the batch on
// axis 0 and passes them on with the batch on `batch_axis`; nullopt: the model_fn itself.
[[nodiscard]] ModelFn WithBatchAxis(ModelFn model_fn,
                                    const std::optional<std::vector<int64_t>>& batch_axis);

}  // namespace tpuest
