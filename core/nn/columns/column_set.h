#pragma once
// The meaning of a job's feature columns: their names in TensorFlow, their numbers of categories,
// and the features that they read.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/nn/columns/feature_columns.h"
#include "core/tensor/tensor.h"

namespace tpuest::nn {

// A column as a model takes it: an entry of the job, or one of the columns that a
// shared_embedding_columns entry stands for.
struct ColumnRef {
  std::string job_name;
  std::string name;  // TensorFlow's name, in checkpoints and errors: "age_bucketized"
  // For a column of shared_embedding_columns: the job's name of its categorical column.
  std::string member;
};

// A feature as tf.Examples store it: tf.feature_column.make_parse_example_spec.
struct FeatureSpec {
  DType dtype = DType::kInvalid;  // float32, int64 or string
  std::optional<Shape> shape;     // FixedLenFeature; nullopt: VarLenFeature
  std::optional<NumberOrList> default_value;
};

// Derives facts about the columns of one job from their options only.
class ColumnSet {
 public:
  // `columns` outlive it.
  explicit ColumnSet(const FeatureColumns& columns) : columns_(columns) {}

  // Returns the columns that a model names, sorted by their TensorFlow names, as TensorFlow sorts
  // them. Throws Error kUsage, with the key `key` ("model.x"), for unknown names, an empty list and
  // two columns of one name.
  [[nodiscard]] std::vector<ColumnRef> Select(const std::vector<std::string>& names,
                                              const std::string& key) const;

  // Returns the entry of this name. Throws Error kUsage at `from` if there is none.
  [[nodiscard]] const FeatureColumn& At(const std::string& job_name, const Place& from) const;
  [[nodiscard]] bool Has(const std::string& job_name) const { return columns_.contains(job_name); }

  // Returns the TensorFlow name of an entry that is a single column.
  [[nodiscard]] std::string NameOf(const std::string& job_name) const;
  // Returns a categorical column's number of ids; reads vocabulary files. Throws Error kUsage if
  // the column is not categorical.
  [[nodiscard]] int64_t BucketsOf(const std::string& job_name) const;
  // True if a categorical column's values are time steps. Throws as BucketsOf does.
  [[nodiscard]] bool IsSequence(const std::string& job_name) const;
  // Returns the features and columns that a cross combines, with nested crosses resolved. Throws
  // Error kUsage, in TensorFlow's words, for weighted columns and for a cross that contains itself.
  [[nodiscard]] std::vector<std::string> LeavesOf(const CrossedColumn& column) const;

  // True if a cross's key is a column, not a feature. A column named like the feature that it reads
  // stands for that feature.
  [[nodiscard]] bool CrossesColumn(const std::string& key) const;

  // Returns the features that these columns read, as tf.Examples store them. Throws Error kUsage,
  // in TensorFlow's words, if two columns read one feature differently. A cross declares each of
  // its features a string, though the input may provide numbers.
  [[nodiscard]] std::map<std::string, FeatureSpec> ParseSpec(
      const std::vector<ColumnRef>& columns) const;
  // Returns the features that some of these columns read as lists of any length.
  [[nodiscard]] std::set<std::string> ReadAsLists(const std::vector<ColumnRef>& columns) const;

  // Returns the faults of all entries, including columns that no model takes.
  [[nodiscard]] std::vector<Fault> Faults() const;

 private:
  const FeatureColumns& columns_;
};

[[nodiscard]] const Place& PlaceOf(const FeatureColumn& column);
[[nodiscard]] bool IsCategorical(const FeatureColumn& column);
// The largest number of buckets or values of a column: no memory holds the weights of more, and the
// product of two such sizes with a batch would overflow.
inline constexpr int64_t kMostOfAColumn = int64_t{1} << 40;
// Returns the shape of a numeric column or step. Throws Error kUsage in TensorFlow's words.
[[nodiscard]] std::vector<int64_t> DimsOf(const ColumnShape& shape, const std::string& key);
// Returns the name as part of a variable's name: characters other than letters, digits and "_.-"
// become "_".
[[nodiscard]] std::string ScopeOf(std::string_view column_name);
// Returns the name of the variable that the columns of one entry share.
[[nodiscard]] std::string SharedName(const ColumnSet& set, const SharedEmbeddingColumns& column);
[[nodiscard]] std::string SharedName(const ColumnSet& set, const TpuSharedEmbeddingColumns& column);
// Returns the categorical columns that share the table of one entry; nullptr if the entry is a
// single column.
[[nodiscard]] const std::vector<std::string>* MembersOf(const FeatureColumn& column);

}  // namespace tpuest::nn
