#pragma once
// Rows of libsvm (also svmlight's): "label index:value index:value ... # comment", words between
// blanks and tabs, indices rising.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/source.h"

namespace tpuest::data {

// A word of a row that is not what it has to be; `offset` is where it begins.
struct LibsvmFault {
  std::string message;
  std::string hint;
  size_t offset = 0;
};

// A finite number in the whole text; a '+' may stand before it.
[[nodiscard]] std::optional<float> LibsvmNumber(std::string_view text);
// int64 where the row's label is a whole number ("1", "-1", "2.0"), else float32; kInvalid where it
// is no number.
[[nodiscard]] DType LibsvmLabelType(std::string_view line);

// Reads rows. Immutable; any thread, each with its own Row.
class LibsvmRows {
 public:
  LibsvmRows(const LibsvmSource& options, DType label, bool has_weight);

  // `label`, `index` int64 [?], `value` float32 [?] and, where rows have one, `weight` float32.
  [[nodiscard]] std::vector<TensorSpec> Specs(const std::string& key) const;
  // Fills row.columns, or returns what is wrong.
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
