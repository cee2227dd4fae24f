#pragma once
// Features of a tf.Example as columns, as tf.io.parse_single_example gives them.

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/io/example.h"
#include "data/options.h"
#include "data/source.h"

namespace tpuest {

// Memory of one worker's parsing; grows to the longest lists and is kept.
struct ParsedExample {
  struct Column {
    std::vector<float> floats;
    std::vector<int64_t> ints;
    std::vector<std::string_view> strings;
    int64_t seen = 0;  // the last Parse that met the feature
  };
  std::vector<Column> columns;
  std::vector<Values> values;  // in the order of ExampleParser::columns()
  int64_t parses = 0;
};

// Parses features by their declared types and shapes. Immutable; shared by the workers.
class ExampleParser {
 public:
  // Throws Error kUsage for a dtype that tf.Examples do not hold, a negative dimension, and a
  // default that does not fit; `key` is parse_example's key path.
  ExampleParser(const std::map<std::string, FeatureOptions>& features, const std::string& key);

  // The features sorted by name, each of its dtype (string, int64, float32) and shape; a
  // VarLenFeature has shape [?].
  [[nodiscard]] const std::vector<TensorSpec>& columns() const { return columns_; }
  // The default of column i, of its dtype and shape; invalid where there is none.
  [[nodiscard]] const Tensor& default_value(size_t i) const { return defaults_[i]; }
  // Fills parsed.values, which point into `example`, `parsed` and this. Throws Error kData that
  // names feature, expected and found; the caller adds file and record.
  void Parse(std::string_view example, ParsedExample& parsed) const;

 private:
  void Take(const FeatureView& feature, size_t column, ParsedExample& parsed) const;
  void TakeDefault(size_t column, std::string_view example, ParsedExample& parsed) const;
  [[nodiscard]] std::string Expected(size_t column) const;
  // The column of a feature's name, or columns().size(). `next` is tried first.
  [[nodiscard]] size_t Find(std::string_view name, size_t next) const;

  std::vector<TensorSpec> columns_;
  std::vector<bool> variable_;    // VarLenFeature
  std::vector<Tensor> defaults_;  // invalid: none
  std::unordered_map<std::string_view, size_t> by_name_;
};

}  // namespace tpuest
