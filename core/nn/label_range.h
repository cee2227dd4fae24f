#pragma once
// The labels that a head takes. They are checked on the host, batch by batch, before they are fed:
// on the device a label outside would only make the loss NaN.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest::nn {

// The numbers min..max, or the words of a vocabulary.
struct LabelRange {
  double min = 0;
  double max = 0;
  std::string below;  // the message for a label < min
  std::string above;  // the message for a label > max
  // Words, if it is not empty: labels are strings, each one of these.
  std::vector<std::string> vocabulary = {};
  // True with a vocabulary: labels are lists of words, where "" is none, or numbers in the range.
  bool lists = false;
};

// A label that its head does not take.
struct LabelFault {
  int64_t row = 0;      // in the batch
  std::string message;  // "label is 10: Labels must be <= n_classes - 1"
};

// The first label among the first `rows` of [batch, ...] that is outside of the range, NaN among
// them, or not in the vocabulary. Strings without a vocabulary are no fault of theirs.
[[nodiscard]] std::optional<LabelFault> FindLabelFault(const Tensor& labels, int64_t rows,
                                                       const LabelRange& range);

// A hint: "labels of this head go from 0 to 9".
[[nodiscard]] std::string LabelHint(const LabelRange& range);

}  // namespace tpuest::nn
