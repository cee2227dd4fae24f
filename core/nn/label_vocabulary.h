#pragma once
// Labels that are words: label_vocabulary of the classifying heads. The words become ids on the
// host before the device, and ids words behind it.

#include <cstdint>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// Empty: labels are numbers.
using LabelVocabulary = std::vector<std::string>;

// Error kUsage, in TensorFlow's words, unless it is empty or has n_classes different words.
void CheckLabelVocabulary(const LabelVocabulary& vocabulary, int64_t n_classes);

// The ids of string labels, int32 of their shape; -1 for a word that is not in the vocabulary.
// Error kUsage, in TensorFlow's words, for labels of another dtype.
[[nodiscard]] Value LabelIds(Value labels, const LabelVocabulary& vocabulary);

// Strings of the shape of `ids`, in an AfterScope: the words of the vocabulary, or without one the
// numbers themselves.
[[nodiscard]] Value ClassNames(Value ids, const LabelVocabulary& vocabulary, std::string_view name);

}  // namespace tpuest::nn
