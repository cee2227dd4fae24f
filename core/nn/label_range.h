#pragma once
// The labels that a head accepts. The host checks each batch before it is fed: on the device a
// label out of range would only turn the loss into NaN.

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
  // The number that pads lists of numbers and is not a label.
  std::optional<double> no_label = {};
  // If not empty, labels are strings from this list.
  std::vector<std::string> vocabulary = {};
  // With a vocabulary: true if labels are lists of words padded with "", or numbers in the range.
  bool lists = false;
  // If greater than 0, labels may also be lists of any length that hold class numbers below this.
  int64_t classes = 0;
  std::string outside = {};  // the message for a number in a list that is not a class
};

// A label that its head does not accept.
struct LabelFault {
  int64_t row = 0;      // in the batch
  std::string message;  // "label is 10: Labels must be <= n_classes - 1"
};

// Finds the first label, among the first `rows` rows of [batch, ...], that is out of range, NaN or
// not in the vocabulary. Strings are not checked if there is no vocabulary.
[[nodiscard]] std::optional<LabelFault> FindLabelFault(const Tensor& labels, int64_t rows,
                                                       const LabelRange& range);

// The range of labels that are lists of any length: the class numbers, if `classes` is set;
// otherwise `range` itself.
[[nodiscard]] LabelRange RangeOfLists(LabelRange range);

// A hint: "labels of this head go from 0 to 9".
[[nodiscard]] std::string LabelHint(const LabelRange& range);

}  // namespace tpuest::nn
