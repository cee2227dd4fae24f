#pragma once
// Moves the rows or columns of a tensor to the positions of their words in another vocabulary.

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

// Returns the first `size` lines of a file, or all if it is -1. Throws Error kData, in TensorFlow's
// words, for a file with fewer lines or with an empty line.
[[nodiscard]] std::vector<std::string> ReadVocabulary(const std::string& path, int64_t size);

// For each new word, returns the index of the same old word, or -1. Throws Error kData, in
// TensorFlow's words, if an old word occurs twice or two new words match the same old one.
[[nodiscard]] std::vector<int64_t> MapVocabulary(const std::vector<std::string>& new_words,
                                                 const std::vector<std::string>& old_words);

// Returns `backup` with slice i along the axis replaced by slice from[i] of `old`, if from has an i
// and from[i] >= 0. Both have one dtype, not string, and the same shape except along the axis.
[[nodiscard]] Tensor RemapAxis(const Tensor& old, const Tensor& backup,
                               const std::vector<int64_t>& from, int axis);

}  // namespace tpuest
