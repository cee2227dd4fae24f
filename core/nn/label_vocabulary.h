#pragma once
// Labels that are words: label_vocabulary of the classifying heads. The words become ids on the
// host before the device, and ids words behind it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// The classes' names in the order of their ids; empty: labels are numbers.
using LabelVocabulary = std::vector<std::string>;

// Throws Error kUsage, in TensorFlow's words, unless it is empty or has n_classes different words.
void CheckLabelVocabulary(const LabelVocabulary& vocabulary, int64_t n_classes);

// The ids of string labels, int32 of their shape; -1 for a word that is not in the vocabulary.
// Throws Error kUsage, in TensorFlow's words, for labels of another dtype.
[[nodiscard]] Value LabelIds(Value labels, const LabelVocabulary& vocabulary);

// Adds to predictions that have class_ids and all_class_ids the strings "classes" and "all_classes"
// of the same shapes, in an AfterScope: the words of the vocabulary, or without one the numbers.
void AddClassNames(const LabelVocabulary& vocabulary, std::map<std::string, Value>& predictions);

// The strings of ids [B, n] int32, in an AfterScope: the words, or without a vocabulary the
// numbers.
[[nodiscard]] Value ClassNames(const LabelVocabulary& vocabulary, Value ids);

}  // namespace tpuest::nn
