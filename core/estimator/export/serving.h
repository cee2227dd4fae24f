#pragma once
// Receivers: what a SavedModel is fed with (tf.estimator.export).

#include <optional>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// A placeholder for each feature, [batch, ...], under its name. `default_batch_size` fixes the
// batch's size. build_raw_serving_input_receiver_fn.
[[nodiscard]] ServingInputReceiverFn RawServingInputReceiverFn(
    std::vector<TensorSpec> features, std::optional<int64_t> default_batch_size = std::nullopt);

// The same with the labels, each under its head's name, or one under its own:
// build_raw_supervised_input_receiver_fn. Error kUsage where a feature has that name.
[[nodiscard]] ServingInputReceiverFn RawSupervisedInputReceiverFn(
    StreamSpec stream, std::optional<int64_t> default_batch_size = std::nullopt);

// `receiver` whose features may also be fed themselves: signatures "raw:<key>".
[[nodiscard]] ServingInputReceiverFn WithRawAlternative(ServingInputReceiverFn receiver);

}  // namespace tpuest
