#pragma once
// Keras' layers that make categories of words and numbers, and numbers of categories. Each gives
// the numbers of its categories, int64 in the shape of its input, or by `output_mode`
//   one_hot    a row each: of [batch] and [batch, 1] [batch, depth], of [batch, K] [batch, K,
//   depth] multi_hot  of lists [batch, K] a row [batch, depth]: 1 where a category is among them
//   count      the same, how often it is among them
//   tf_idf     the same, each count times the category's weight
// What they learn from data in Keras (adapt) is an argument here.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

inline constexpr std::string_view kEncodingHelp =
    "the numbers of the categories, or rows with a place for each";

// ---- vocabularies -------------------------------------------------------------------------------
// The numbers of words: first, of mode int, 0 for mask_token where there is one; then those of
// words that are not known; then the vocabulary's in their order. A vocabulary may begin with what
// the first ones stand for, as get_vocabulary gives it.

// Visits what both lookups have but for their vocabularies and tokens.
template <class V, class Layer>
void VisitLookup(V& v, Layer& layer, std::string_view name) {
  v("vocabulary_file", layer.vocabulary_file,
    {.help = "the vocabulary, an entry in each line", .tpuest = true, .input_path = true});
  v("num_oov_indices", layer.num_oov_indices,
    {.help = "numbers for what is not in the vocabulary, by its hash; 0: that is an error"});
  v("output_mode", layer.output_mode,
    {.help = kEncodingHelp, .values = {"int", "one_hot", "multi_hot", "count", "tf_idf"}});
  v("max_tokens", layer.max_tokens,
    {.help = "most that it counts, those before the vocabulary, too"});
  v("pad_to_max_tokens", layer.pad_to_max_tokens, {.help = "rows of max_tokens places"});
  v("idf_weights", layer.idf_weights, {.help = "of the vocabulary's entries, for tf_idf"});
  VisitName(v, layer, name);
}

struct StringLookup {
  static constexpr std::string_view kType = "string_lookup";
  static constexpr std::string_view kSummary = "the numbers of words, by a vocabulary";
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
    v("vocabulary", vocabulary, {.help = "words in their order"});
    v("mask_token", mask_token, {.help = "stands for no word; null: there is none"});
    v("oov_token", oov_token, {.help = "stands for unknown words in a vocabulary that has it"});
    VisitLookup(v, *this, "default: string_lookup, string_lookup_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

struct IntegerLookup {
  static constexpr std::string_view kType = "integer_lookup";
  static constexpr std::string_view kSummary = "the places of integers in a vocabulary";
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
    v("vocabulary", vocabulary, {.help = "integers in their order"});
    v("mask_token", mask_token, {.help = "stands for no integer; null: there is none"});
    v("oov_token", oov_token, {.help = "stands for unknown ones in a vocabulary that has it"});
    VisitLookup(v, *this, "default: integer_lookup, integer_lookup_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// ---- without a vocabulary -----------------------------------------------------------------------

// Fingerprint64 of a word, or of a number in decimal, modulo num_bins; with a salt its SipHash-2-4.
// With a mask_value 0 is its number, and the others have those from 1 on.
struct Hashing {
  static constexpr std::string_view kType = "hashing";
  static constexpr std::string_view kSummary = "words and integers by their hash";
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
    v("num_bins", num_bins, {.help = "numbers that there are", .required = true});
    v("mask_value", mask_value, {.help = "what has the number 0 alone; null: nothing"});
    v("salt", salt,
      {.help = "the key of another hash, two numbers, or one that is both; null: none"});
    v("output_mode", output_mode,
      {.help = kEncodingHelp, .values = {"int", "one_hot", "multi_hot", "count"}});
    VisitName(v, *this, "default: hashing, hashing_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// The number of boundaries that are not above x.
struct Discretization {
  static constexpr std::string_view kType = "discretization";
  static constexpr std::string_view kSummary = "numbers by the ranges that they are in";
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
      {.help = "in rising order; one range more than these", .required = true});
    v("output_mode", output_mode,
      {.help = kEncodingHelp, .values = {"int", "one_hot", "multi_hot", "count"}});
    VisitName(v, *this, "default: discretization, discretization_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A number outside [0, num_tokens) is an Error kData when it is computed. A second input weighs
// what is counted, in the shape of the first.
struct CategoryEncoding {
  static constexpr std::string_view kType = "category_encoding";
  static constexpr std::string_view kSummary =
      "numbers of categories as rows with a place for each";
  static constexpr std::string_view kAliases[] = {"CategoryEncoding"};
  static constexpr bool kTakesAnything = true;
  int64_t num_tokens = 0;
  std::string output_mode = "multi_hot";
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("num_tokens", num_tokens, {.help = "categories that there are", .required = true});
    v("output_mode", output_mode,
      {.help = "what a row holds", .values = {"one_hot", "multi_hot", "count"}});
    VisitName(v, *this, "default: category_encoding, category_encoding_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& inputs) const;
};

// tf.sparse.cross_hashed of words and integers, one each an example, in the order of its inputs.
struct HashedCrossing {
  static constexpr std::string_view kType = "hashed_crossing";
  static constexpr std::string_view kSummary = "pairs, or more, of categories by their hash";
  static constexpr std::string_view kAliases[] = {"HashedCrossing"};
  static constexpr bool kTakesAnything = true;
  int64_t num_bins = 0;
  std::string output_mode = "int";
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("num_bins", num_bins, {.help = "numbers that there are", .required = true});
    v("output_mode", output_mode, {.help = kEncodingHelp, .values = {"int", "one_hot"}});
    VisitName(v, *this, "default: hashed_crossing, hashed_crossing_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& inputs) const;
};

}  // namespace tpuest::nn
