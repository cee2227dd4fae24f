#pragma once
// The features of records, as in tf.io.parse_example. See core/base/visit.h.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/visit.h"

namespace tpuest::data {

// tf.io.FixedLenFeature: [batch, shape...].
struct FixedLenFeature {
  static constexpr std::string_view kType = "FixedLenFeature";
  static constexpr std::string_view kSummary = "a fixed number of values";
  std::vector<int64_t> shape;
  std::string dtype;
  std::optional<Raw> default_value;

  template <class V>
  void Visit(V& v) {
    v("shape", shape, {.help = "shape of one example; [] is a scalar", .required = true});
    v("dtype", dtype,
      {.help = "type of the values", .required = true, .values = {"string", "int64", "float32"}});
    v("default_value", default_value,
      {.help = "value for records without the feature: one for all elements, or one per element"});
  }
};

// tf.io.VarLenFeature. A batch is [batch, K], where K is the longest list rounded up to a power of
// two; shorter lists are padded with -1 (integers), NaN (floats) or "".
struct VarLenFeature {
  static constexpr std::string_view kType = "VarLenFeature";
  static constexpr std::string_view kSummary = "any number of values";
  std::string dtype;

  template <class V>
  void Visit(V& v) {
    v("dtype", dtype,
      {.help = "type of the values", .required = true, .values = {"string", "int64", "float32"}});
  }
};

// tf.io.FixedLenSequenceFeature: [batch, K, shape...], where K is the length of the batch's longest
// list.
struct FixedLenSequenceFeature {
  static constexpr std::string_view kType = "FixedLenSequenceFeature";
  static constexpr std::string_view kSummary = "any number of steps of one shape";
  std::vector<int64_t> shape;
  std::string dtype;
  bool allow_missing = false;
  std::optional<Raw> default_value;

  template <class V>
  void Visit(V& v) {
    v("shape", shape, {.help = "shape of one step", .required = true});
    v("dtype", dtype,
      {.help = "type of the values", .required = true, .values = {"string", "int64", "float32"}});
    v("allow_missing", allow_missing,
      {.help = "`true` reads records without the feature as an empty list"});
    v("default_value", default_value,
      {.help = "value that pads shorter lists; `null` is 0 or \"\""});
  }
};

// tf.io.SparseFeature, made dense as by tf.sparse.to_dense: [batch, size].
struct SparseFeature {
  static constexpr std::string_view kType = "SparseFeature";
  static constexpr std::string_view kSummary = "values whose indices are in other features";
  std::string index_key;
  std::string value_key;
  std::string dtype;
  int64_t size = 0;
  std::optional<Raw> default_value;

  template <class V>
  void Visit(V& v) {
    v("index_key", index_key, {.help = "feature that holds the indices", .required = true});
    v("value_key", value_key, {.help = "feature that holds the values", .required = true});
    v("dtype", dtype,
      {.help = "type of the values", .required = true, .values = {"string", "int64", "float32"}});
    v("size", size, {.help = "length of the dense row", .required = true});
    v("default_value", default_value,
      {.help = "value of indices without a value; `null` is 0 or \"\"", .tpuest = true});
  }
};

// tf.io.RaggedFeature without partitions: lists of any length, like those of VarLenFeature.
struct RaggedFeature {
  static constexpr std::string_view kType = "RaggedFeature";
  static constexpr std::string_view kSummary = "rows of different lengths";
  std::string dtype;
  std::optional<std::string> value_key;

  template <class V>
  void Visit(V& v) {
    v("dtype", dtype,
      {.help = "type of the values", .required = true, .values = {"string", "int64", "float32"}});
    v("value_key", value_key,
      {.help = "feature that holds the values; `null` is the feature of this name"});
  }
};

using FeatureOptions = std::variant<FixedLenFeature, VarLenFeature, FixedLenSequenceFeature,
                                    SparseFeature, RaggedFeature>;

// tf.io.parse_sequence_example: the context's features of a SequenceExample, and its lists of
// features.
struct SequenceExampleOptions {
  std::map<std::string, FeatureOptions> context_features;
  std::map<std::string, std::variant<FixedLenSequenceFeature>> sequence_features;

  template <class V>
  void Visit(V& v) {
    v("context_features", context_features, {.help = "features of the whole example, by name"});
    v("sequence_features", sequence_features,
      {.help = "features of the steps, by name: [batch, K, shape...], where K is the longest of "
               "the batch"});
  }
};

}  // namespace tpuest::data
