#pragma once
// Parses the features of a tf.Example into columns, like tf.io.parse_single_example.

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/io/examples/example.h"
#include "data/options.h"
#include "data/source.h"

namespace tpuest::data {

// The memory of one worker's parsing; it grows to the longest lists and is reused.
struct ParsedExample {
  struct Column {
    std::vector<float> floats;
    std::vector<int64_t> ints;
    std::vector<std::string_view> strings;
    std::vector<int64_t> marks;
    int64_t seen = 0;  // number of the last Parse that found the feature
  };
  std::vector<Column> columns;
  std::vector<Values> values;  // in the order of ExampleParser::columns()
  int64_t parses = 0;
};

// The default of a feature, with its dtype and shape; invalid if it has none. `key` is the
// feature's, for errors.
[[nodiscard]] Tensor DefaultTensor(const FixedLenFeature& feature, const std::string& key);

// Parses features by their declared types and shapes. Immutable; shared by the workers.
class ExampleParser {
 public:
  // Throws kUsage for a dtype that tf.Examples lack, a negative dimension, and a default that does
  // not fit. `key` is parse_example's key path.
  ExampleParser(const std::map<std::string, FeatureOptions>& features, const std::string& key);
  // Parses SequenceExamples. Also throws kUsage for a name that occurs both in the context and
  // among the steps.
  ExampleParser(const SequenceExampleOptions& options, const std::string& key);

  // The features sorted by name, those of the context before those of the steps, with dtype
  // (string, int64, float32) and shape. Lists have shape [?]; FixedLenSequenceFeatures have [?,
  // shape...].
  [[nodiscard]] const std::vector<TensorSpec>& columns() const { return columns_; }
  // The default of column i, with its dtype and shape; invalid if it has none.
  [[nodiscard]] const Tensor& default_value(size_t i) const { return defaults_[i]; }
  // The value of SparseFeature i at positions without a value, with its dtype and shape.
  [[nodiscard]] const Tensor& filler(size_t i) const;
  // Fills parsed.values, which point into `example`, `parsed` and this object. Throws kData that
  // names the feature and what was expected and found; the caller adds file and record.
  void Parse(std::string_view example, ParsedExample& parsed) const;

 private:
  // The origin of a column's values: its own feature, or two others for a sparse feature.
  enum class Kind { kFixed, kList, kSteps, kSparse };
  struct Sparse {
    size_t column = 0;
    size_t indices = 0;  // slots
    size_t values = 0;
    Tensor filler;
  };
  void AddFeature(const std::string& name, const FeatureOptions& options, const std::string& place);
  void AddSlot(const std::string& feature, TensorSpec spec, Kind kind, Tensor value,
               bool is_optional = true);
  void AddSparse(const SparseFeature& options, size_t column, const std::string& place);
  void Take(const FeatureView& feature, size_t slot, ParsedExample& parsed) const;
  void TakeSteps(std::string_view example, ParsedExample& parsed) const;
  void TakeSparse(const Sparse& sparse, ParsedExample& parsed) const;
  void TakeDefault(size_t slot, std::string_view example, ParsedExample& parsed) const;
  [[nodiscard]] std::string Expected(size_t slot) const;
  // The first slot with a feature's name, or kNone. Tries `next` first.
  [[nodiscard]] size_t Find(std::string_view name, size_t next) const;
  static constexpr size_t kNone = ~size_t{0};

  std::vector<TensorSpec> columns_;
  // A feature that is read: one slot per column, followed by the features that make up sparse
  // columns.
  struct Slot {
    std::string feature;
    TensorSpec spec;
    Kind kind = Kind::kFixed;
    bool is_optional = true;   // lists: a missing one is empty
    int64_t of_step = 1;       // values per step of a list
    bool is_shared = false;    // other slots read the same feature
    size_t same_name = kNone;  // the next slot of the same feature
  };
  std::vector<Slot> slots_;
  std::vector<Tensor> defaults_;  // by slot; invalid: none
  std::vector<Sparse> sparse_;
  size_t steps_begin_ = kNone;  // the first slot of feature lists, which are the last columns
  size_t steps_end_ = kNone;
  std::unordered_map<std::string_view, size_t> by_name_;        // slots of features by name
  std::unordered_map<std::string_view, size_t> steps_by_name_;  // slots of feature lists by name
};

}  // namespace tpuest::data
