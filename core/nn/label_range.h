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
  // What fills up lists of numbers, and is no label.
  std::optional<double> no_label = {};
  // Words, if it is not empty: labels are strings, each one of these.
  std::vector<std::string> vocabulary = {};
  // True with a vocabulary: labels are lists of words, where "" is none, or numbers in the range.
  bool lists = false;
  // More than 0: lists of any length hold the numbers of so many classes.
  int64_t classes = 0;
  std::string outside = {};  // the message for what is none
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

// The range of labels that are lists of any length: that of classes, where there are.
[[nodiscard]] LabelRange RangeOfLists(LabelRange range);

// A hint: "labels of this head go from 0 to 9".
[[nodiscard]] std::string LabelHint(const LabelRange& range);

}  // namespace tpuest::nn
