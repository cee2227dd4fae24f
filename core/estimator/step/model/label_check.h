#pragma once
// Finds labels outside a head's range before they are fed: the loss would silently become NaN.

#include "core/estimator/contract/contract.h"
#include "core/nn/heads/head.h"

namespace tpuest {

// Returns an input_fn whose streams give the same batches. Their Next throws Error kData, with
// file, record, label and TensorFlow's words, at the first label outside its head's range.
[[nodiscard]] InputFn WithLabelCheck(InputFn input_fn, nn::Labels<nn::LabelRange> ranges);

}  // namespace tpuest
