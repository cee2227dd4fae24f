#pragma once
// Keras' layers that turn words and numbers into category numbers, and category numbers into
// vectors. Each returns category numbers, int64 in the shape of its input, or by `output_mode`
//   one_hot    one row each: [batch] and [batch, 1] -> [batch, depth],
//              [batch, K] -> [batch, K, depth]
//   multi_hot  one row per list: [batch, K] -> [batch, depth], 1 for categories in the list
//   count      the same, with the number of times each category occurs
//   tf_idf     the same, with each count times the category's weight
// What these layers learn from data in Keras (adapt) is an argument here.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

inline constexpr std::string_view kEncodingHelp =
    "`int` returns category numbers; other modes return rows with one column per category";

// ---- vocabularies -------------------------------------------------------------------------------
// The numbers of words: in mode int, 0 stands for mask_token if there is one; then come the numbers
// of unknown words, then those of the vocabulary in its order. As in get_vocabulary's result, a
// vocabulary may begin with the tokens that stand for mask and unknown words.

// Visits the arguments that both lookups have besides their vocabularies and tokens.
template <class V, class Layer>
void VisitLookup(V& v, Layer& layer, std::string_view name) {
  v("vocabulary_file", layer.vocabulary_file,
    {.help = "vocabulary file, one entry per line", .tpuest = true, .input_path = true});
  v("num_oov_indices", layer.num_oov_indices,
    {.help = "number of hash buckets for values outside the vocabulary; 0 makes them an error"});
  v("output_mode", layer.output_mode,
    {.help = kEncodingHelp, .values = {"int", "one_hot", "multi_hot", "count", "tf_idf"}});
  v("max_tokens", layer.max_tokens,
    {.help = "maximum number of tokens, including those before the vocabulary"});
  v("pad_to_max_tokens", layer.pad_to_max_tokens, {.help = "pad rows to max_tokens columns"});
  v("idf_weights", layer.idf_weights, {.help = "of tf_idf: weights of the vocabulary's entries"});
  VisitName(v, layer, name);
}

struct StringLookup {
  static constexpr std::string_view kType = "string_lookup";
  static constexpr std::string_view kSummary = "maps words to numbers by a vocabulary";
  static constexpr std::string_view kAliases[] = {"StringLookup"};
  static constexpr bool kTakesAnything = true;
  std::vector<std::string> vocabulary;
  std::string vocabulary_file;
  std::optional<std::string> mask_token;
  std::string oov_token = "[UNK]";
  int64_t num_oov_indices = 1;
  std::string output_mode = "int";
  std::optional<int64_t> max_tokens;
  bool pad_to_max_tokens = false;
  std::vector<double> idf_weights;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("vocabulary", vocabulary, {.help = "words, in order"});
    v("mask_token", mask_token, {.help = "token that stands for a missing word; `null` has none"});
    v("oov_token", oov_token,
      {.help = "token that stands for unknown values in a vocabulary that includes it"});
    VisitLookup(v, *this, "name of the layer; default: string_lookup, string_lookup_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

struct IntegerLookup {
  static constexpr std::string_view kType = "integer_lookup";
  static constexpr std::string_view kSummary = "maps integers to their places in a vocabulary";
  static constexpr std::string_view kAliases[] = {"IntegerLookup"};
  static constexpr bool kTakesAnything = true;
  std::vector<int64_t> vocabulary;
  std::string vocabulary_file;
  std::optional<int64_t> mask_token;
  int64_t oov_token = -1;
  int64_t num_oov_indices = 1;
  std::string output_mode = "int";
  std::optional<int64_t> max_tokens;
  bool pad_to_max_tokens = false;
  std::vector<double> idf_weights;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("vocabulary", vocabulary, {.help = "integers, in order"});
    v("mask_token", mask_token,
      {.help = "token that stands for a missing integer; `null` has none"});
    v("oov_token", oov_token, {.help = "stands for unknown ones in a vocabulary that has it"});
    VisitLookup(v, *this, "name of the layer; default: integer_lookup, integer_lookup_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// ---- without a vocabulary -----------------------------------------------------------------------

// Fingerprint64 of a word, or of a number in decimal, modulo num_bins; with a salt, SipHash-2-4.
// With a mask_value, that value gets number 0 and all others start at 1.
struct Hashing {
  static constexpr std::string_view kType = "hashing";
  static constexpr std::string_view kSummary = "maps words and integers to numbers by hash";
  static constexpr std::string_view kAliases[] = {"Hashing"};
  static constexpr bool kTakesAnything = true;
  int64_t num_bins = 0;
  std::optional<std::variant<int64_t, std::string>> mask_value;
  std::optional<std::variant<int64_t, std::vector<int64_t>>> salt;
  std::string output_mode = "int";
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("num_bins", num_bins, {.help = "number of buckets", .required = true});
    v("mask_value", mask_value, {.help = "value that alone is mapped to 0; `null` has none"});
    v("salt", salt,
      {.help = "key of the hash: two numbers, or one used for both; `null` uses the hash without a "
               "key"});
    v("output_mode", output_mode,
      {.help = kEncodingHelp, .values = {"int", "one_hot", "multi_hot", "count"}});
    VisitName(v, *this, "name of the layer; default: hashing, hashing_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// The number of boundaries that are at most x.
struct Discretization {
  static constexpr std::string_view kType = "discretization";
  static constexpr std::string_view kSummary = "maps numbers to the index of their range";
  static constexpr std::string_view kAliases[] = {"Discretization"};
  static constexpr bool kTakesAnything = true;
  std::vector<double> bin_boundaries;
  std::string output_mode = "int";
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("bin_boundaries", bin_boundaries,
      {.help = "limits between ranges, in increasing order", .required = true});
    v("output_mode", output_mode,
      {.help = kEncodingHelp, .values = {"int", "one_hot", "multi_hot", "count"}});
    VisitName(v, *this, "name of the layer; default: discretization, discretization_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A number outside [0, num_tokens) causes an Error kData when it is computed. A second input, of
// the first one's shape, weights the counts.
struct CategoryEncoding {
  static constexpr std::string_view kType = "category_encoding";
  static constexpr std::string_view kSummary =
      "encodes category numbers as one-hot, multi-hot or count vectors";
  static constexpr std::string_view kAliases[] = {"CategoryEncoding"};
  static constexpr bool kTakesAnything = true;
  int64_t num_tokens = 0;
  std::string output_mode = "multi_hot";
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("num_tokens", num_tokens, {.help = "number of categories", .required = true});
    v("output_mode", output_mode,
      {.help = "encoding of a row", .values = {"one_hot", "multi_hot", "count"}});
    VisitName(v, *this, "name of the layer; default: category_encoding, category_encoding_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& inputs) const;
};

// tf.sparse.cross_hashed of words and integers, one per example and input, in the order of the
// inputs.
struct HashedCrossing {
  static constexpr std::string_view kType = "hashed_crossing";
  static constexpr std::string_view kSummary = "maps combinations of categories to numbers by hash";
  static constexpr std::string_view kAliases[] = {"HashedCrossing"};
  static constexpr bool kTakesAnything = true;
  int64_t num_bins = 0;
  std::string output_mode = "int";
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("num_bins", num_bins, {.help = "number of buckets", .required = true});
    v("output_mode", output_mode, {.help = kEncodingHelp, .values = {"int", "one_hot"}});
    VisitName(v, *this, "name of the layer; default: hashed_crossing, hashed_crossing_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& inputs) const;
};

}  // namespace tpuest::nn
