#pragma once
// The receivers of tf.estimator.export: the placeholders through which a SavedModel is fed.

#include <optional>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// build_raw_serving_input_receiver_fn: a placeholder for each feature, [batch, ...], under its
// name. `default_batch_size` fixes the batch size. All are dense, as TensorFlow's placeholders are,
// including those of lists (StreamSpec::lists): columns treat -1 and "" as absent, crosses do not.
[[nodiscard]] ServingInputReceiverFn RawServingInputReceiverFn(
    StreamSpec stream, std::optional<int64_t> default_batch_size = std::nullopt);

// build_raw_supervised_input_receiver_fn: placeholders for the features and the labels: each label
// under its head's name, or a single one under its own. Throws Error kUsage if a feature has that
// name.
[[nodiscard]] ServingInputReceiverFn RawSupervisedInputReceiverFn(
    StreamSpec stream, std::optional<int64_t> default_batch_size = std::nullopt);

// Adds the features themselves to a receiver as an alternative: signatures "raw:<key>". Both then
// treat -1 and "" in lists as absent.
[[nodiscard]] ServingInputReceiverFn WithRawAlternative(ServingInputReceiverFn receiver);

}  // namespace tpuest
