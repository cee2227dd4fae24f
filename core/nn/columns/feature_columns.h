#pragma once
// The feature columns of tf.feature_column, with their arguments and defaults. A job names its
// columns; columns and models refer to each other by these names. column_set.h derives what a
// column means, and column_values.h computes it.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/formula_text.h"
#include "core/base/one_of.h"
#include "core/base/visit.h"
#include "core/nn/initializers.h"
#include "core/nn/optimizers/schedules.h"

namespace tpuest::nn {

// A shape: one size, or one size per axis.
using ColumnShape = std::variant<int64_t, std::vector<int64_t>>;
using NumberOrList = std::variant<double, std::vector<double>>;

// ---- numbers ------------------------------------------------------------------------------------

// A normalizer: (x - mean) / std.
struct ZScore {
  static constexpr std::string_view kType = "z_score";
  static constexpr std::string_view kSummary =
      "subtracts the mean and divides by the standard deviation";
  double mean = 0;
  double std = 1;

  template <class V>
  void Visit(V& v) {
    v("mean", mean, {.help = "mean to subtract", .required = true});
    v("std", std, {.help = "standard deviation to divide by; not 0", .required = true});
  }
};

// A normalizer: (x - min) / (max - min).
struct MinMax {
  static constexpr std::string_view kType = "min_max";
  static constexpr std::string_view kSummary = "scales a range to 0 to 1";
  double min = 0;
  double max = 1;

  template <class V>
  void Visit(V& v) {
    v("min", min, {.help = "value that becomes 0", .required = true});
    v("max", max, {.help = "value that becomes 1; must differ from min", .required = true});
  }
};

// A formula of `x`, the column's numbers [batch] + shape; the result has the same shape.
using Normalizer = std::variant<Formula, ZScore, MinMax>;

inline constexpr std::string_view kNormalizerHelp =
    "function applied to the values after default_value; a formula of x";
inline constexpr std::string_view kKeyHelp = "feature to read";

// The feature as float32 [B] + shape.
struct NumericColumn {
  static constexpr std::string_view kType = "numeric_column";
  static constexpr std::string_view kSummary = "numbers, optionally normalized";
  std::string key;
  ColumnShape shape = int64_t{1};
  std::optional<NumberOrList> default_value;
  std::string dtype = "float32";
  std::optional<Normalizer> normalizer_fn;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("key", key, {.help = kKeyHelp, .required = true});
    v("shape", shape, {.help = "shape of one example's value"});
    v("default_value", default_value,
      {.help = "value for tf.Examples that lack the feature: one value, or one per element; `null` "
               "refuses such examples"});
    v("dtype", dtype,
      {.help = "type of the feature in tf.Examples",
       .values = {"float32", "float64", "int64", "int32"}});
    v("normalizer_fn", normalizer_fn, {.help = kNormalizerHelp});
  }
};

// The mean over the steps of lists of numbers [B, any], in steps of `shape`; NaN marks the end of a
// list.
struct SequenceNumericColumn {
  static constexpr std::string_view kType = "sequence_numeric_column";
  static constexpr std::string_view kSummary = "numbers as steps of a sequence";
  std::string key;
  ColumnShape shape = int64_t{1};
  double default_value = 0;
  std::optional<Normalizer> normalizer_fn;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("key", key, {.help = kKeyHelp, .required = true});
    v("shape", shape, {.help = "shape of one step"});
    v("default_value", default_value, {.help = "value that completes the last step of a list"});
    v("normalizer_fn", normalizer_fn, {.help = "function applied to the values; a formula of x"});
  }
};

// The index of the interval (-inf, b0), [b0, b1), ..., [bn, inf) that contains a number.
struct BucketizedColumn {
  static constexpr std::string_view kType = "bucketized_column";
  static constexpr std::string_view kSummary = "the bucket of a number, between boundaries";
  std::string source_column;
  std::vector<double> boundaries;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("source_column", source_column, {.help = "a numeric_column", .required = true});
    v("boundaries", boundaries,
      {.help = "limits between buckets, in increasing order", .required = true});
  }
};

// ---- categories ---------------------------------------------------------------------------------
// Strings or integers [B], [B, 1] or [B, any]; "" and -1 are absent. The sequence_ columns keep
// their order as time steps.

// The position of the value in a list; other values get default_value, or one of num_oov_buckets by
// hash.
template <bool sequence>
struct VocabularyListColumnOf {
  static constexpr std::string_view kType = sequence
                                                ? "sequence_categorical_column_with_vocabulary_list"
                                                : "categorical_column_with_vocabulary_list";
  static constexpr std::string_view kSummary =
      sequence ? std::string_view("the position of each step's value in a list")
               : "the position of the value in a list";
  static constexpr bool kSequence = sequence;
  std::string key;
  std::vector<std::variant<int64_t, std::string>> vocabulary_list;
  std::optional<std::string> dtype;
  int64_t default_value = -1;
  int64_t num_oov_buckets = 0;
  Place place;

  // True if the feature holds strings: decided by dtype or, without one, by the list.
  [[nodiscard]] bool is_text() const {
    if (dtype) return *dtype == "string";
    return vocabulary_list.empty() || std::holds_alternative<std::string>(vocabulary_list[0]);
  }

  template <class V>
  void Visit(V& v) {
    v("key", key, {.help = kKeyHelp, .required = true});
    v("vocabulary_list", vocabulary_list,
      {.help = "vocabulary: all strings or all numbers", .required = true});
    v("dtype", dtype,
      {.help = "type of the feature; `null` takes that of the vocabulary",
       .values = {"string", "int64", "int32"}});
    v("default_value", default_value,
      {.help = "category of values outside the vocabulary; -1 treats them as missing"});
    v("num_oov_buckets", num_oov_buckets,
      {.help = "number of hash buckets for values outside the vocabulary"});
  }
};

// The position of the value in a file with one value per line; otherwise as VocabularyListColumnOf.
template <bool sequence>
struct VocabularyFileColumnOf {
  static constexpr std::string_view kType = sequence
                                                ? "sequence_categorical_column_with_vocabulary_file"
                                                : "categorical_column_with_vocabulary_file";
  static constexpr std::string_view kSummary =
      sequence ? std::string_view("the position of each step's value in a file")
               : "the position of the value in a file";
  static constexpr bool kSequence = sequence;
  std::string key;
  std::string vocabulary_file;
  std::optional<int64_t> vocabulary_size;
  std::string dtype = "string";
  std::optional<int64_t> default_value;
  int64_t num_oov_buckets = 0;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("key", key, {.help = kKeyHelp, .required = true});
    v("vocabulary_file", vocabulary_file,
      {.help = "vocabulary file, one value per line", .required = true, .input_path = true});
    v("vocabulary_size", vocabulary_size, {.help = "number of lines to use; `null` uses all"});
    v("dtype", dtype, {.help = "type of the feature", .values = {"string", "int64", "int32"}});
    v("default_value", default_value,
      {.help = "category of values outside the vocabulary; `null` treats them as missing"});
    v("num_oov_buckets", num_oov_buckets,
      {.help = "number of hash buckets for values outside the vocabulary"});
  }
};

// Fingerprint64 of the string (of a number: its digits) modulo hash_bucket_size.
template <bool sequence>
struct HashBucketColumnOf {
  static constexpr std::string_view kType = sequence
                                                ? "sequence_categorical_column_with_hash_bucket"
                                                : "categorical_column_with_hash_bucket";
  static constexpr std::string_view kSummary =
      sequence ? std::string_view("a bucket of each step's value by its hash")
               : "a bucket of the value by its hash";
  static constexpr bool kSequence = sequence;
  std::string key;
  int64_t hash_bucket_size = 0;
  std::string dtype = "string";
  Place place;

  template <class V>
  void Visit(V& v) {
    v("key", key, {.help = kKeyHelp, .required = true});
    v("hash_bucket_size", hash_bucket_size, {.help = "number of buckets", .required = true});
    v("dtype", dtype, {.help = "type of the feature", .values = {"string", "int64", "int32"}});
  }
};

// The number itself, below num_buckets.
template <bool sequence>
struct IdentityColumnOf {
  static constexpr std::string_view kType =
      sequence ? "sequence_categorical_column_with_identity" : "categorical_column_with_identity";
  static constexpr std::string_view kSummary =
      sequence ? std::string_view("the number of each step itself")
               : "the number itself as a category";
  static constexpr bool kSequence = sequence;
  std::string key;
  int64_t num_buckets = 0;
  std::optional<int64_t> default_value;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("key", key, {.help = kKeyHelp, .required = true});
    v("num_buckets", num_buckets,
      {.help = "number of categories; values are 0 to num_buckets - 1", .required = true});
    v("default_value", default_value,
      {.help = "category of values outside the range; `null` makes them an error"});
  }
};

using VocabularyListColumn = VocabularyListColumnOf<false>;
using VocabularyFileColumn = VocabularyFileColumnOf<false>;
using HashBucketColumn = HashBucketColumnOf<false>;
using IdentityColumn = IdentityColumnOf<false>;
using SequenceVocabularyListColumn = VocabularyListColumnOf<true>;
using SequenceVocabularyFileColumn = VocabularyFileColumnOf<true>;
using SequenceHashBucketColumn = HashBucketColumnOf<true>;
using SequenceIdentityColumn = IdentityColumnOf<true>;

// A category with one weight per value, from another feature of the same shape.
struct WeightedCategoricalColumn {
  static constexpr std::string_view kType = "weighted_categorical_column";
  static constexpr std::string_view kSummary = "categories weighted by another feature";
  std::string categorical_column;
  std::string weight_feature_key;
  std::string dtype = "float32";
  Place place;

  template <class V>
  void Visit(V& v) {
    v("categorical_column", categorical_column, {.help = "a categorical column", .required = true});
    v("weight_feature_key", weight_feature_key,
      {.help = "feature that holds the weights", .required = true});
    v("dtype", dtype,
      {.help = "type of the weights in tf.Examples", .values = {"float32", "int64", "int32"}});
  }
};

// Every combination of its keys' values, by FingerprintCat64 modulo hash_bucket_size. A key is a
// feature of strings or numbers (which are truncated to integers), or a categorical column that is
// not hashed; the name of a column that reads the feature of that name means the feature.
struct CrossedColumn {
  static constexpr std::string_view kType = "crossed_column";
  static constexpr std::string_view kSummary =
      "one category per combination of several features, by hash";
  std::vector<std::string> keys;
  int64_t hash_bucket_size = 0;
  std::optional<uint64_t> hash_key;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("keys", keys, {.help = "feature columns of the job, or features", .required = true});
    v("hash_bucket_size", hash_bucket_size, {.help = "number of buckets", .required = true});
    v("hash_key", hash_key, {.help = "key of the hash; `null` takes TensorFlow's 0xDECAFCAFFE"});
  }
};

// ---- categories as numbers ----------------------------------------------------------------------

// The number of times that each category occurs, or the sum of its weights: [B, buckets].
struct IndicatorColumn {
  static constexpr std::string_view kType = "indicator_column";
  static constexpr std::string_view kSummary =
      "counts of each category: one-hot or multi-hot vectors";
  std::string categorical_column;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("categorical_column", categorical_column, {.help = "a categorical column", .required = true});
  }
};

inline constexpr std::string_view kTableInitializerHelp =
    "initial values; `null` is a normal distribution of standard deviation 1/sqrt(dimension), "
    "truncated at two of them";

// The arguments that both kinds of embeddings take.
struct EmbeddingOptions {
  int64_t dimension = 0;
  std::string combiner = "mean";
  std::optional<Initializer> initializer;
  std::optional<double> max_norm;
  bool trainable = true;

  // The arguments that a TPU's embeddings also take.
  template <class V>
  void VisitTable(V& v) {
    v("dimension", dimension, {.help = "width of each category's vector", .required = true});
    v("combiner", combiner,
      {.help = "how to combine the values of an example into one",
       .values = {"mean", "sum", "sqrtn"}});
    v("initializer", initializer, {.help = kTableInitializerHelp});
  }
  template <class V>
  void Visit(V& v) {
    VisitTable(v);
    v("max_norm", max_norm, {.help = "maximum norm of a row; longer rows are scaled down to it"});
    v("trainable", trainable, {.help = "`false` freezes the values"});
  }
};

// A trained row of numbers per category, combined to [B, dimension]; zeros if there is no category.
struct EmbeddingColumn {
  static constexpr std::string_view kType = "embedding_column";
  static constexpr std::string_view kSummary = "a trained vector per category";
  std::string categorical_column;
  EmbeddingOptions embedding;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("categorical_column", categorical_column, {.help = "a categorical column", .required = true});
    embedding.Visit(v);
  }
};

// Several columns that share one table: stands for as many columns as it has categorical ones.
struct SharedEmbeddingColumns {
  static constexpr std::string_view kType = "shared_embedding_columns";
  static constexpr std::string_view kSummary = "one table of trained vectors for several columns";
  static constexpr std::string_view kAliases[] = {"shared_embeddings"};
  std::vector<std::string> categorical_columns;
  EmbeddingOptions embedding;
  std::optional<std::string> shared_embedding_collection_name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("categorical_columns", categorical_columns,
      {.help = "categorical columns of the same size", .required = true});
    embedding.Visit(v);
    v("shared_embedding_collection_name", shared_embedding_collection_name,
      {.help = "name of the variable; `null` joins the columns' names and adds _shared_embedding"});
  }
};

// ---- categories as rows of a TPU's tables -------------------------------------------------------
// Embeddings that embedding_config_spec trains by their own optimizers if use_tpu is true
// (embedding_config.h). Otherwise they are core columns, trained like the rest of the model.

inline constexpr std::string_view kTensorCore = "tpu_tensor_core";

// The arguments that both kinds have after those of the table.
struct TableLookup {
  std::optional<LearningRate> learning_rate_fn;
  std::optional<std::string> embedding_lookup_device;
  std::optional<std::vector<std::optional<int64_t>>> tensor_core_shape;

  [[nodiscard]] bool on_tensor_core() const {
    return embedding_lookup_device && *embedding_lookup_device == kTensorCore;
  }

  template <class V>
  void Visit(V& v) {
    v("learning_rate_fn", learning_rate_fn,
      {.help =
           "learning rate of the table as a function of global_step; `null` uses the optimizer's"});
    v("embedding_lookup_device", embedding_lookup_device,
      {.help = "`tpu_embedding_core` (or `null`) is a table of embedding_config_spec; "
               "`tpu_tensor_core` is a weight that the model's optimizer trains"});
    v("tensor_core_shape", tensor_core_shape,
      {.help = "[null, n] uses the first n values of an example on the tensor core"});
  }
};

struct TpuEmbeddingColumn {
  static constexpr std::string_view kType = "tpu.experimental.embedding_column";
  static constexpr std::string_view kSummary =
      "a trained vector per category, in a table with its own optimizer";
  std::string categorical_column;
  EmbeddingOptions embedding;
  int64_t max_sequence_length = 0;
  TableLookup lookup;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("categorical_column", categorical_column, {.help = "a categorical column", .required = true});
    embedding.VisitTable(v);
    v("max_sequence_length", max_sequence_length,
      {.help = "number of steps of a sequence to use; 0 if the column is not a sequence"});
    lookup.Visit(v);
  }
};

struct TpuSharedEmbeddingColumns {
  static constexpr std::string_view kType = "tpu.experimental.shared_embedding_columns";
  static constexpr std::string_view kSummary =
      "one table with its own optimizer for several columns";
  std::vector<std::string> categorical_columns;
  EmbeddingOptions embedding;
  std::optional<std::string> shared_embedding_collection_name;
  std::optional<std::vector<int64_t>> max_sequence_lengths;
  TableLookup lookup;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("categorical_columns", categorical_columns,
      {.help = "categorical columns of the same size", .required = true});
    embedding.VisitTable(v);
    v("shared_embedding_collection_name", shared_embedding_collection_name,
      {.help = "name of the variable; `null` joins the columns' names and adds _shared_embedding"});
    v("max_sequence_lengths", max_sequence_lengths,
      {.help = "number of steps of a sequence to use, per column; 0 if a column is not a sequence; "
               "`null` is 0 for all"});
    lookup.Visit(v);
  }
};

using FeatureColumnTypes =
    std::variant<NumericColumn, BucketizedColumn, VocabularyListColumn, VocabularyFileColumn,
                 HashBucketColumn, IdentityColumn, WeightedCategoricalColumn, CrossedColumn,
                 IndicatorColumn, EmbeddingColumn, SharedEmbeddingColumns, SequenceNumericColumn,
                 SequenceVocabularyListColumn, SequenceVocabularyFileColumn,
                 SequenceHashBucketColumn, SequenceIdentityColumn, TpuEmbeddingColumn,
                 TpuSharedEmbeddingColumns>;
using FeatureColumn = OneOf<FeatureColumnTypes>;

// The columns of a job, by the job's names.
using FeatureColumns = std::map<std::string, FeatureColumn>;

}  // namespace tpuest::nn

namespace tpuest {
extern template class OneOf<nn::FeatureColumnTypes>;
}  // namespace tpuest
