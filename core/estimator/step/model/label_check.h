#pragma once
// Finds labels outside of a head's range before they are fed: the loss would silently be NaN.

#include "core/estimator/contract/contract.h"
#include "core/nn/heads/head.h"

namespace tpuest {

// An input_fn whose streams give the same batches; their Next throws Error kData with file, record,
// label and TensorFlow's words at the first label outside the range of its head.
[[nodiscard]] InputFn WithLabelCheck(InputFn input_fn, nn::Labels<nn::LabelRange> ranges);

}  // namespace tpuest
