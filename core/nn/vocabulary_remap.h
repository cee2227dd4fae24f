#pragma once
// Moves the rows or columns of a tensor to where their words stand in another vocabulary.

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

// The first `size` lines of a file, all where it is -1. Error kData, in TensorFlow's words, for a
// file with fewer or with an empty line.
[[nodiscard]] std::vector<std::string> ReadVocabulary(const std::string& path, int64_t size);

// For each new word the index of the same old one, -1 where there is none. Error kData, in
// TensorFlow's words, where an old word stands twice or two new ones are the same old one.
[[nodiscard]] std::vector<int64_t> MapVocabulary(const std::vector<std::string>& new_words,
                                                 const std::vector<std::string>& old_words);

// `backup` with slice i along the axis replaced by slice from[i] of `old`, where from has an i and
// from[i] >= 0. The two are of one dtype, no strings, and of one shape but for that axis.
[[nodiscard]] Tensor RemapAxis(const Tensor& old, const Tensor& backup,
                               const std::vector<int64_t>& from, int axis);

}  // namespace tpuest
