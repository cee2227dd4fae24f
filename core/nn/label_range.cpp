#include "core/nn/label_range.h"

#include <algorithm>

#include "core/base/text.h"

namespace tpuest::nn {
namespace {

constexpr size_t kWordsInHint = 10;

// The label as short as its dtype allows: 1.2, not 1.2000000476837158.
std::string LabelText(const Tensor& labels, double label) {
  return labels.dtype() == DType::kFloat ? fmt::format("{}", static_cast<float>(label))
                                         : NumberText(label);
}

// The fault of element i, or "".
std::string FaultOfNumber(const Tensor& labels, int64_t i, const LabelRange& range) {
  const double label = labels.AsDouble(i);
  if (range.no_label == label) return "";
  if (label >= range.min && label <= range.max) return "";  // NaN is in no range
  return fmt::format("label is {}: {}", LabelText(labels, label),
                     label < range.min ? range.below : range.above);
}

// The fault of a word, or "": on the device it would have the id -1, which is below the range.
std::string FaultOfWord(const Tensor& labels, int64_t i, const LabelRange& range) {
  const std::string_view label = labels.strings()[static_cast<size_t>(i)];
  if (range.lists && label.empty()) return "";
  const auto& words = range.vocabulary;
  if (std::find(words.begin(), words.end(), label) != words.end()) return "";
  return fmt::format("label is \"{}\", which is not in label_vocabulary: {}", label, range.below);
}

}  // namespace

std::optional<LabelFault> FindLabelFault(const Tensor& labels, int64_t rows,
                                         const LabelRange& range) {
  const bool words = labels.dtype() == DType::kString;
  const bool checked = words ? !range.vocabulary.empty() : range.vocabulary.empty() || range.lists;
  if (!checked) return std::nullopt;
  const int64_t all = labels.shape().rank() == 0 ? 1 : labels.shape().dim(0);
  const int64_t row_size = labels.elements() / std::max<int64_t>(all, 1);
  for (int64_t i = 0; i < rows * row_size; ++i) {
    std::string fault = words ? FaultOfWord(labels, i, range) : FaultOfNumber(labels, i, range);
    if (!fault.empty()) return LabelFault{.row = i / row_size, .message = std::move(fault)};
  }
  return std::nullopt;
}

LabelRange RangeOfLists(LabelRange range) {
  if (range.classes == 0) return range;
  range.max = static_cast<double>(range.classes - 1);
  range.below = range.above = range.outside;
  range.no_label = -1;
  return range;
}

std::string LabelHint(const LabelRange& range) {
  if (range.vocabulary.empty()) {
    return fmt::format("this head takes labels from {} to {}", NumberText(range.min),
                       NumberText(range.max));
  }
  const auto& words = range.vocabulary;
  const size_t shown = std::min(words.size(), kWordsInHint);
  const std::vector<std::string> first(words.begin(),
                                       words.begin() + static_cast<ptrdiff_t>(shown));
  return fmt::format("this head takes the labels {}{}", Join(first, ", "),
                     shown < words.size() ? ", ..." : "");
}

}  // namespace tpuest::nn
