#pragma once
// The meaning of a job's feature columns: TensorFlow's names for them, how many categories they
// have, and which features they read.

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
  std::string name;  // TensorFlow's, in checkpoints and errors: "age_bucketized"
  // The job's name of the categorical column, for one of shared_embedding_columns.
  std::string member;
};

// A feature as tf.Examples hold it: tf.feature_column.make_parse_example_spec.
struct FeatureSpec {
  DType dtype = DType::kInvalid;  // float32, int64 or string
  std::optional<Shape> shape;     // FixedLenFeature; nullopt: VarLenFeature
  std::optional<NumberOrList> default_value;
};

// Answers questions about the columns of one job, from their options alone.
class ColumnSet {
 public:
  // `columns` outlive it.
  explicit ColumnSet(const FeatureColumns& columns) : columns_(columns) {}

  // The columns that a model names, sorted by TensorFlow's names as it sorts them. Throws Error
  // kUsage for unknown names, none at all and two of one name; errors have the key `key`
  // ("model.x").
  [[nodiscard]] std::vector<ColumnRef> Select(const std::vector<std::string>& names,
                                              const std::string& key) const;

  // The entry of this name. Throws Error kUsage at `from` where there is none.
  [[nodiscard]] const FeatureColumn& At(const std::string& job_name, const Place& from) const;
  [[nodiscard]] bool Has(const std::string& job_name) const { return columns_.contains(job_name); }

  // TensorFlow's name of an entry that is one column.
  [[nodiscard]] std::string NameOf(const std::string& job_name) const;
  // A categorical column's number of ids; reads vocabulary files. Throws Error kUsage if it is
  // none.
  [[nodiscard]] int64_t BucketsOf(const std::string& job_name) const;
  // True if a categorical column's values are steps in time. Throws as BucketsOf.
  [[nodiscard]] bool IsSequence(const std::string& job_name) const;
  // The features and columns that a cross combines, crosses within it resolved. Throws Error
  // kUsage, in TensorFlow's words, for weighted columns, and for a cross of itself.
  [[nodiscard]] std::vector<std::string> LeavesOf(const CrossedColumn& column) const;

  // True if a cross's key is a column, not a feature. A column that reads the feature of its own
  // name stands for that feature.
  [[nodiscard]] bool CrossesColumn(const std::string& key) const;

  // The features that these columns read, as tf.Examples hold them. Throws Error kUsage, in
  // TensorFlow's words, where two columns read one feature in two ways: a cross says of each of its
  // features that it is a string, though an input may give it numbers.
  [[nodiscard]] std::map<std::string, FeatureSpec> ParseSpec(
      const std::vector<ColumnRef>& columns) const;
  // Those of them that are lists of any length for some column.
  [[nodiscard]] std::set<std::string> ReadAsLists(const std::vector<ColumnRef>& columns) const;

  // The faults of all entries, whether or not a model takes them.
  [[nodiscard]] std::vector<Fault> Faults() const;

 private:
  const FeatureColumns& columns_;
};

[[nodiscard]] const Place& PlaceOf(const FeatureColumn& column);
[[nodiscard]] bool IsCategorical(const FeatureColumn& column);
// No column may have more buckets or numbers: no memory holds what is learned of them, and products
// of two such sizes with a batch could not be counted.
inline constexpr int64_t kMostOfAColumn = int64_t{1} << 40;
// A numeric column's or step's shape. Throws Error kUsage in TensorFlow's words.
[[nodiscard]] std::vector<int64_t> DimsOf(const ColumnShape& shape, const std::string& key);
// The name as a part of a variable's: other characters than letters, digits, "_.-" become "_".
[[nodiscard]] std::string ScopeOf(std::string_view column_name);
// The name of the variable that the columns of one entry share.
[[nodiscard]] std::string SharedName(const ColumnSet& set, const SharedEmbeddingColumns& column);
[[nodiscard]] std::string SharedName(const ColumnSet& set, const TpuSharedEmbeddingColumns& column);
// The categorical columns that share the table of one entry; nullptr: it is one column.
[[nodiscard]] const std::vector<std::string>* MembersOf(const FeatureColumn& column);

}  // namespace tpuest::nn
