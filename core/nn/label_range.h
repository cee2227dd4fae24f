#pragma once
// What a head's labels may be. Checked on the host, batch by batch, before they are fed: on the
// device a label outside would only make the loss NaN.

#include <cstdint>
#include <optional>
#include <string>

#include "core/tensor/tensor.h"

namespace tpuest::nn {

struct LabelRange {
  double min = 0;
  double max = 0;
  std::string below;  // what to say of a label < min
  std::string above;  // of a label > max
};

struct LabelFault {
  int64_t row = 0;      // in the batch
  std::string message;  // "Labels must be <= n_classes - 1: got 10, the largest is 9"
};

// The first label [batch, ...] outside the range, NaN among them.
[[nodiscard]] std::optional<LabelFault> FindLabelFault(const Tensor& labels,
                                                       const LabelRange& range);

}  // namespace tpuest::nn
