#pragma once
// The receivers of tf.estimator.export: the placeholders that a SavedModel is fed by.

#include <optional>

#include "core/estimator/contract/contract.h"

namespace tpuest {

// build_raw_serving_input_receiver_fn: a placeholder for each feature, [batch, ...], under its
// name. `default_batch_size` fixes the batch's size. All are dense, as TensorFlow's placeholders
// are, those of the lists (StreamSpec::lists) too: columns take -1 and "" for absent, crosses do
// not.
[[nodiscard]] ServingInputReceiverFn RawServingInputReceiverFn(
    StreamSpec stream, std::optional<int64_t> default_batch_size = std::nullopt);

// build_raw_supervised_input_receiver_fn: placeholders for the features and the labels, each under
// its head's name, or one under its own. Error kUsage where a feature has that name.
[[nodiscard]] ServingInputReceiverFn RawSupervisedInputReceiverFn(
    StreamSpec stream, std::optional<int64_t> default_batch_size = std::nullopt);

// Adds to a receiver the features themselves as an alternative: signatures "raw:<key>". Both then
// take -1 and "" in lists for what is absent.
[[nodiscard]] ServingInputReceiverFn WithRawAlternative(ServingInputReceiverFn receiver);

}  // namespace tpuest
