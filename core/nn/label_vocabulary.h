#pragma once
// Labels that are words: label_vocabulary of the classification heads. The host turns words into
// ids before the device program, and ids into words after it.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/graph/graph.h"

namespace tpuest::nn {

// The names of the classes in the order of their ids; if empty, labels are numbers.
using LabelVocabulary = std::vector<std::string>;

// Throws Error kUsage, in TensorFlow's words, unless it is empty or has n_classes different words.
void CheckLabelVocabulary(const LabelVocabulary& vocabulary, int64_t n_classes);

// Returns the ids of string labels, int32 of their shape; -1 for a word that is not in the
// vocabulary. Throws Error kUsage, in TensorFlow's words, for labels of another dtype.
[[nodiscard]] Value LabelIds(Value labels, const LabelVocabulary& vocabulary);

// Adds the strings "classes" and "all_classes" to predictions that have class_ids and
// all_class_ids, in the same shapes and in an AfterScope: words of the vocabulary, or the numbers
// as text if it is empty.
void AddClassNames(const LabelVocabulary& vocabulary, std::map<std::string, Value>& predictions);

// Returns ids [B, n] int32 as strings, in an AfterScope: words, or the numbers as text if the
// vocabulary is empty.
[[nodiscard]] Value ClassNames(const LabelVocabulary& vocabulary, Value ids);

}  // namespace tpuest::nn
