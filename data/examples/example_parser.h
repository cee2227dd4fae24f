#pragma once
// Features of a tf.Example as columns, as tf.io.parse_single_example gives them.

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

// Memory of one worker's parsing; grows to the longest lists and is kept.
struct ParsedExample {
  struct Column {
    std::vector<float> floats;
    std::vector<int64_t> ints;
    std::vector<std::string_view> strings;
    std::vector<int64_t> marks;
    int64_t seen = 0;  // the last Parse that met the feature
  };
  std::vector<Column> columns;
  std::vector<Values> values;  // in the order of ExampleParser::columns()
  int64_t parses = 0;
};

// The default of a feature, of its dtype and shape; invalid where it has none. `key` is the
// feature's, for errors.
[[nodiscard]] Tensor DefaultTensor(const FixedLenFeature& feature, const std::string& key);

// Parses features by their declared types and shapes. Immutable; shared by the workers.
class ExampleParser {
 public:
  // Throws Error kUsage for a dtype that tf.Examples do not hold, a negative dimension, and a
  // default that does not fit; `key` is parse_example's key path.
  ExampleParser(const std::map<std::string, FeatureOptions>& features, const std::string& key);
  // Of SequenceExamples. Throws also for a name that stands in both.
  ExampleParser(const SequenceExampleOptions& options, const std::string& key);

  // The features sorted by name, those of steps behind those of the context, each of its dtype
  // (string, int64, float32) and shape. Lists have shape [?], those of FixedLenSequenceFeatures
  // [?, shape...].
  [[nodiscard]] const std::vector<TensorSpec>& columns() const { return columns_; }
  // The default of column i, of its dtype and shape; invalid where there is none.
  [[nodiscard]] const Tensor& default_value(size_t i) const { return defaults_[i]; }
  // What stands where a SparseFeature, column i, has no value, of its dtype and shape.
  [[nodiscard]] const Tensor& filler(size_t i) const;
  // Fills parsed.values, which point into `example`, `parsed` and this. Throws Error kData that
  // names feature, expected and found; the caller adds file and record.
  void Parse(std::string_view example, ParsedExample& parsed) const;

 private:
  // Where the values of a column come from: a feature of its own, or for a sparse one two others.
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
  // The first slot of a feature's name, or none (kNone). `next` is tried first.
  [[nodiscard]] size_t Find(std::string_view name, size_t next) const;
  static constexpr size_t kNone = ~size_t{0};

  std::vector<TensorSpec> columns_;
  // What is read: a feature for each column, then those that sparse columns are made of.
  struct Slot {
    std::string feature;
    TensorSpec spec;
    Kind kind = Kind::kFixed;
    bool is_optional = true;   // lists: none is an empty one
    int64_t of_step = 1;       // values of a step of a list
    bool is_shared = false;    // other slots are of the same feature
    size_t same_name = kNone;  // the next one of these
  };
  std::vector<Slot> slots_;
  std::vector<Tensor> defaults_;  // of the slots; invalid: none
  std::vector<Sparse> sparse_;
  size_t steps_begin_ = kNone;  // the first slot of lists of features, which end with the columns
  size_t steps_end_ = kNone;
  std::unordered_map<std::string_view, size_t> by_name_;        // slots of features
  std::unordered_map<std::string_view, size_t> steps_by_name_;  // of lists of features
};

}  // namespace tpuest::data
