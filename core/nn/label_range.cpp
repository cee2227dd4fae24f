#include "core/nn/label_range.h"

#include <algorithm>

#include "core/base/text.h"

namespace tpuest::nn {

std::optional<LabelFault> FindLabelFault(const Tensor& labels, const LabelRange& range) {
  const int64_t rows = labels.shape().rank() == 0 ? 1 : labels.shape().dim(0);
  const int64_t row_size = labels.elements() / std::max<int64_t>(rows, 1);
  for (int64_t i = 0; i < labels.elements(); ++i) {
    const double label = labels.AsDouble(i);
    if (label >= range.min && label <= range.max) continue;
    const bool above = label > range.max;
    return LabelFault{
        .row = i / row_size,
        .message = fmt::format("{}: got {}, the {} is {}", above ? range.above : range.below,
                               NumberText(label), above ? "largest" : "smallest",
                               NumberText(above ? range.max : range.min))};
  }
  return std::nullopt;
}

}  // namespace tpuest::nn
