#pragma once
// Rows of libsvm (also svmlight's): "label index:value index:value ... # comment", words are
// separated by blanks and tabs, indices ascend.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace tpuest::data {

// An error in a word of a row; `offset` is the word's start.
struct LibsvmFault {
  std::string message;
  std::string hint;
  size_t offset = 0;
};

// The finite number that the whole text denotes, optionally with a '+' in front.
[[nodiscard]] std::optional<float> LibsvmNumber(std::string_view text);
// int64 if the row's label is an integer ("1", "-1", "2.0"), otherwise float32; kInvalid if it is
// not a number.
[[nodiscard]] DType LibsvmLabelType(std::string_view line);

// Reads rows. Immutable; any thread, each with its own Row.
class LibsvmRows {
 public:
  LibsvmRows(const LibsvmSource& options, DType label, bool has_weight);

  // `label`, `index` int64 [?], `value` float32 [?] and, if rows have weights, `weight` float32.
  [[nodiscard]] std::vector<TensorSpec> Specs(const std::string& key) const;
  // Fills row.columns, or returns the error.
  [[nodiscard]] std::optional<LibsvmFault> Read(std::string_view line, float weight,
                                                Row& row) const;

 private:
  struct State;
  [[nodiscard]] std::optional<LibsvmFault> ReadLabel(std::string_view word, State& state) const;
  [[nodiscard]] std::optional<LibsvmFault> ReadPair(std::string_view word, State& state) const;

  int64_t base_;
  std::optional<int64_t> size_;
  DType label_;
  bool has_weight_;
};

}  // namespace tpuest::data
