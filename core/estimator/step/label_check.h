#pragma once
// Labels outside of what a head takes, found before they are fed: the loss would silently be NaN.

#include "core/estimator/contract/contract.h"
#include "core/nn/heads/head.h"

namespace tpuest {

// The same stream; Next throws Error kData with file, record, label and TensorFlow's words at the
// first label outside the range of its head.
[[nodiscard]] InputFn WithLabelCheck(InputFn input_fn, nn::Labels<nn::LabelRange> ranges);

}  // namespace tpuest
