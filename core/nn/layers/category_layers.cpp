#include "core/nn/layers/category_layers.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "core/base/text.h"
#include "core/nn/vocabulary_file.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/lookup.h"
#include "core/ops/reduction.h"
#include "core/ops/strings.h"

namespace tpuest::nn {
namespace {

Value Int64(Graph& graph, int64_t value) { return graph.Scalar<int64_t>(value); }

void CheckPlaces(const LayerScope& layer, std::string_view what, int64_t places) {
  if (places < 1) layer.Fail(fmt::format("{} is {}, expected at least 1", what, places));
  if (places > std::numeric_limits<int32_t>::max()) {
    layer.Fail(fmt::format("{} is {}, expected less than 2^31", what, places));
  }
}

// Encodes category numbers, integers [batch] or [batch, K], as `mode` says. A number outside [0,
// depth) is ignored. `weights`, of their shape, replace the ones that are counted if valid().
Value Encoded(const LayerScope& layer, const LayerContext& context, Value ids,
              const std::string& mode, int64_t depth, Value weights = {}) {
  if (mode == "int") return ops::Cast(ids, DType::kInt64);
  CheckPlaces(layer, "the length of a row", depth);
  const Shape& shape = ids.shape();
  if (!shape.known_rank() || shape.rank() < 1 || shape.rank() > 2) {
    layer.Fail(fmt::format("output_mode {} takes [batch] or lists [batch, K], found {}", mode,
                           shape.Text()));
  }
  const bool single = shape.rank() == 1 || shape.dim(1) == 1;
  if (single && shape.rank() == 2) {
    ids = ops::Squeeze(ids, {1});
    if (weights.valid()) weights = ops::Squeeze(weights, {1});
  }
  Value rows = ops::OneHot(ids, {.depth = static_cast<int>(depth), .dtype = context.compute_dtype});
  if (mode == "one_hot") return rows;
  if (mode == "multi_hot") return single ? rows : ops::Max(rows, {1});
  if (weights.valid()) {
    rows = ops::Mul(rows, ops::ExpandDims(ops::Cast(weights, context.compute_dtype), -1));
  }
  return single ? rows : ops::Sum(rows, {1});
}

// Returns the numbers; one outside [0, end) is an Error kData when it is computed.
Value CheckedBelow(Value ids, int64_t end) {
  std::vector<int64_t> all(static_cast<size_t>(end));
  std::iota(all.begin(), all.end(), 0);
  return ops::GatherV2(ids.graph().Constant(Tensor::Of<int64_t>(Shape{end}, all)), ids);
}

Value Words(const LayerScope& layer, Value x) {
  if (x.dtype() == DType::kString) return x;
  layer.Fail(fmt::format("takes strings, found {}", NameOf(x.dtype())));
}

Value Integers(const LayerScope& layer, Value x) {
  if (IsInteger(x.dtype())) return ops::Cast(x, DType::kInt64);
  layer.Fail(fmt::format("takes integers, found {}", NameOf(x.dtype())));
}

Value WordsOrIntegers(const LayerScope& layer, Value x) {
  if (x.dtype() == DType::kString) return x;
  if (IsInteger(x.dtype())) return ops::Cast(x, DType::kInt64);
  layer.Fail(fmt::format("takes strings or integers, found {}", NameOf(x.dtype())));
}

// ---- vocabularies -------------------------------------------------------------------------------

Tensor TensorOf(const std::vector<std::string>& words) {
  return Tensor::Strings(Shape{static_cast<int64_t>(words.size())}, words);
}
Tensor TensorOf(const std::vector<int64_t>& numbers) {
  return Tensor::Of<int64_t>(Shape{static_cast<int64_t>(numbers.size())}, numbers);
}
Value ScalarOf(Graph& graph, const std::string& word) {
  return graph.Constant(Tensor::Strings({}, {word}));
}
Value ScalarOf(Graph& graph, int64_t number) { return Int64(graph, number); }

Value HashOf(Value words, int64_t buckets) { return ops::StringToHashBucketFast(words, buckets); }
Value ModuloOf(Value numbers, int64_t buckets) {
  return ops::FloorMod(numbers, Int64(numbers.graph(), buckets));
}

// A StringLookup or an IntegerLookup at its input.
template <class Layer>
class Lookup {
 public:
  Lookup(const Layer& of, const LayerScope& layer)
      : of_(of),
        layer_(layer),
        first_(of.mask_token && of.output_mode == "int" ? 1 : 0),
        start_(first_ + of.num_oov_indices) {
    CheckArguments();
    size_ = of_.vocabulary_file.empty()
                ? TakeList()
                : static_cast<int64_t>(VocabularyLines(of_.vocabulary_file).size());
    CheckSize();
  }

  [[nodiscard]] Value Apply(const LayerContext& context, Value x) const {
    Value ids = NumbersOf(x);
    if (of_.mask_token) {
      const Value is_masked = ops::Equal(x, ScalarOf(x.graph(), *of_.mask_token));
      ids = ops::SelectV2(is_masked, Int64(x.graph(), first_ - 1), ids);
    }
    if (of_.num_oov_indices == 0) ids = AllKnown(ids);
    const int64_t depth = of_.pad_to_max_tokens ? *of_.max_tokens : start_ + size_;
    if (of_.output_mode != "tf_idf") return Encoded(layer_, context, ids, of_.output_mode, depth);
    const Value counts = Encoded(layer_, context, ids, "count", depth);
    return ops::Mul(counts, ops::Cast(Weights(x.graph(), depth), counts.dtype()));
  }

 private:
  void CheckArguments() const {
    if (of_.num_oov_indices < 0) {
      layer_.Fail(
          fmt::format("`num_oov_indices` must be greater than or equal to 0. Received: "
                      "num_oov_indices={}",
                      of_.num_oov_indices));
    }
    if (of_.pad_to_max_tokens && !of_.max_tokens) {
      layer_.Fail("If pad_to_max_tokens is True, must set `max_tokens`.");
    }
    if (of_.vocabulary.empty() == of_.vocabulary_file.empty()) {
      layer_.Fail(
          of_.vocabulary.empty() ? "has no vocabulary" : "has two vocabularies, expected one",
          "vocabulary: [...], or vocabulary_file: FILE");
    }
    if ((of_.output_mode == "tf_idf") == of_.idf_weights.empty()) {
      layer_.Fail("`idf_weights` are required for output_mode tf_idf, and not allowed otherwise",
                  "idf_weights: one number per entry of the vocabulary");
    }
  }

  // The vocabulary's own entries. Returns how many there are.
  int64_t TakeList() {
    entries_ = of_.vocabulary;
    using Entry = typename decltype(entries_)::value_type;
    std::vector<Entry> special(static_cast<size_t>(first_), of_.mask_token.value_or(Entry()));
    special.resize(static_cast<size_t>(start_), of_.oov_token);
    has_special_ = special.size() <= entries_.size() &&
                   std::equal(special.begin(), special.end(), entries_.begin());
    if (has_special_) entries_.erase(entries_.begin(), entries_.begin() + start_);
    std::set<Entry> seen;
    for (const Entry& entry : entries_) {
      if (of_.mask_token && entry == *of_.mask_token) {
        layer_.Fail("Found reserved mask token at unexpected location in `vocabulary`.",
                    "remove it, or put it before the tokens of unknown entries at the start");
      }
      if (seen.insert(entry).second) continue;
      layer_.Fail(fmt::format("The passed vocabulary has at least one repeated term: '{}'", entry));
    }
    return static_cast<int64_t>(entries_.size());
  }

  void CheckSize() const {
    const int64_t all = start_ + size_;
    if (of_.max_tokens && all > *of_.max_tokens) {
      layer_.Fail(
          fmt::format("Attempted to set a vocabulary larger than the maximum vocab size. "
                      "Passed vocab size is {}, max vocab size is {}.",
                      all, *of_.max_tokens));
    }
    const auto given = static_cast<int64_t>(of_.idf_weights.size());
    if (given != 0 && given != (has_special_ ? all : size_)) {
      layer_.Fail(
          fmt::format("`idf_weights` must be the same length as vocabulary. "
                      "len(idf_weights) is {}, len(vocabulary) is {}",
                      given, has_special_ ? all : size_));
    }
  }

  // The number of each entry; of unknown ones, by num_oov_indices, their hash's or -1.
  [[nodiscard]] Value NumbersOf(Value x) const {
    Graph& graph = x.graph();
    const int64_t other = of_.num_oov_indices == 1 ? first_ : -1;
    Value ids;
    if (of_.vocabulary_file.empty()) {
      std::vector<int64_t> numbers(entries_.size());
      std::iota(numbers.begin(), numbers.end(), start_);
      const Value table =
          ops::HashTable(graph, TensorOf(entries_), TensorOf(numbers), "vocabulary");
      ids = ops::LookupTableFind(table, x, Tensor::Scalar<int64_t>(other));
    } else {
      const Value table =
          ops::FileTable(graph, of_.vocabulary_file, size_, x.dtype(), "vocabulary");
      const Value line = ops::LookupTableFind(table, x, Tensor::Scalar<int64_t>(-1));
      ids = ops::SelectV2(ops::GreaterEqual(line, Int64(graph, 0)),
                          ops::AddV2(line, Int64(graph, start_)), Int64(graph, other));
    }
    if (of_.num_oov_indices <= 1) return ids;
    const Value hash = x.dtype() == DType::kString ? HashOf(x, of_.num_oov_indices)
                                                   : ModuloOf(x, of_.num_oov_indices);
    return ops::SelectV2(ops::GreaterEqual(ids, Int64(graph, 0)), ids,
                         ops::AddV2(hash, Int64(graph, first_)));
  }

  // The numbers where each entry is known; what is masked has none in rows.
  [[nodiscard]] Value AllKnown(Value ids) const {
    if (first_ == 1 || !of_.mask_token) return CheckedBelow(ids, start_ + size_);
    // -1 is both, what is masked and what is not known.
    layer_.Fail(fmt::format("output_mode {} with a mask_token needs num_oov_indices of at least 1",
                            of_.output_mode));
  }

  // float32 [depth]: tokens before the vocabulary get the average weight of its entries.
  [[nodiscard]] Value Weights(Graph& graph, int64_t depth) const {
    const std::vector<double>& given = of_.idf_weights;
    std::vector<float> weights;
    if (!has_special_) {
      const double sum = std::accumulate(given.begin(), given.end(), 0.0);
      weights.assign(static_cast<size_t>(start_),
                     static_cast<float>(sum / static_cast<double>(given.size())));
    }
    for (const double weight : given) weights.push_back(static_cast<float>(weight));
    weights.resize(static_cast<size_t>(depth), 0.0F);
    return graph.Constant(Tensor::Of<float>(Shape{depth}, weights));
  }

  const Layer& of_;
  const LayerScope& layer_;
  const int64_t first_;  // 1: the number 0 is the mask_token's
  const int64_t start_;  // the number of the vocabulary's first entry
  decltype(Layer::vocabulary) entries_;
  bool has_special_ = false;  // the vocabulary begins with what stands before its entries
  int64_t size_ = 0;
};

}  // namespace

Value StringLookup::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const Lookup<StringLookup> lookup(*this, layer);
  const NameScope nodes = layer.Nodes();
  return layer.Output(lookup.Apply(context, Words(layer, x)));
}

Value IntegerLookup::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  const Lookup<IntegerLookup> lookup(*this, layer);
  const NameScope nodes = layer.Nodes();
  return layer.Output(lookup.Apply(context, Integers(layer, x)));
}

// ---- without a vocabulary -----------------------------------------------------------------------

namespace {

// The hash of words as a layer says it.
Value SaltedHash(const LayerScope& layer, Value words, const Hashing& of, int64_t bins) {
  if (!of.salt) return HashOf(words, bins);
  const auto* const both = std::get_if<int64_t>(&*of.salt);
  const std::vector<int64_t> key = both != nullptr ? std::vector<int64_t>{*both, *both}
                                                   : std::get<std::vector<int64_t>>(*of.salt);
  if (key.size() != 2) {
    layer.Fail(
        fmt::format("The `salt` argument can only be two integers or one, got {}", key.size()));
  }
  return ops::StringToHashBucketStrong(words, bins, key);
}

// True where x, words or int64, is the value.
Value IsMasked(const LayerScope& layer, Value x, const std::variant<int64_t, std::string>& value) {
  const auto* const word = std::get_if<std::string>(&value);
  if ((word != nullptr) != (x.dtype() == DType::kString)) {
    layer.Fail(fmt::format("mask_value is {}, but the input is {}",
                           word != nullptr ? "a word" : "a number", NameOf(x.dtype())));
  }
  return ops::Equal(
      x, word != nullptr ? ScalarOf(x.graph(), *word) : Int64(x.graph(), std::get<int64_t>(value)));
}

}  // namespace

Value Hashing::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  if (num_bins < 1) layer.Fail(fmt::format("num_bins is {}, expected at least 1", num_bins));
  const NameScope nodes = layer.Nodes();
  x = WordsOrIntegers(layer, x);
  // With a single bin, everything goes into it.
  const bool masks = mask_value && num_bins > 1;
  Value ids = SaltedHash(layer, x.dtype() == DType::kString ? x : ops::AsString(x), *this,
                         masks ? num_bins - 1 : num_bins);
  if (masks) {
    ids = ops::SelectV2(IsMasked(layer, x, *mask_value), Int64(x.graph(), 0),
                        ops::AddV2(ids, Int64(x.graph(), 1)));
  }
  return layer.Output(Encoded(layer, context, ids, output_mode, num_bins));
}

Value Discretization::Apply(LayerContext& context, Value x) const {
  const LayerScope layer(context, name, kType, place);
  if (bin_boundaries.empty()) layer.Fail("bin_boundaries is empty");
  if (!std::is_sorted(bin_boundaries.begin(), bin_boundaries.end())) {
    layer.Fail(fmt::format("bin_boundaries are [{}], expected in increasing order",
                           fmt::join(bin_boundaries, ", ")));
  }
  if (!IsInteger(x.dtype()) && !IsFloating(x.dtype())) {
    layer.Fail(fmt::format("takes numbers, found {}", NameOf(x.dtype())));
  }
  const NameScope nodes = layer.Nodes();
  const bool as_given = x.dtype() == DType::kInt32 || x.dtype() == DType::kInt64 ||
                        x.dtype() == DType::kFloat || x.dtype() == DType::kDouble;
  const Value bins = ops::Bucketize(as_given ? x : ops::Cast(x, DType::kFloat), bin_boundaries);
  return layer.Output(
      Encoded(layer, context, bins, output_mode, static_cast<int64_t>(bin_boundaries.size()) + 1));
}

Value CategoryEncoding::Apply(LayerContext& context, const std::vector<Value>& inputs) const {
  const LayerScope layer(context, name, kType, place);
  CheckPlaces(layer, "num_tokens", num_tokens);
  if (inputs.empty() || inputs.size() > 2) {
    layer.Fail(fmt::format("takes categories and optional weights, got {} inputs", inputs.size()));
  }
  const bool is_weighted = inputs.size() == 2;
  if (is_weighted && output_mode != "count") {
    layer.Fail(
        fmt::format("`count_weights` is not used when `output_mode` is not `'count'`; it is "
                    "{}",
                    output_mode));
  }
  if (is_weighted && !Compatible(inputs[0].shape(), inputs[1].shape())) {
    layer.Fail(fmt::format("weights {} do not have the categories' shape {}",
                           inputs[1].shape().Text(), inputs[0].shape().Text()));
  }
  const NameScope nodes = layer.Nodes();
  const Value ids = IsFloating(inputs[0].dtype()) ? ops::Cast(inputs[0], DType::kInt64)
                                                  : Integers(layer, inputs[0]);
  return layer.Output(Encoded(layer, context, CheckedBelow(ids, num_tokens), output_mode,
                              num_tokens, is_weighted ? inputs[1] : Value()));
}

Value HashedCrossing::Apply(LayerContext& context, const std::vector<Value>& inputs) const {
  const LayerScope layer(context, name, kType, place);
  CheckPlaces(layer, "num_bins", num_bins);
  if (inputs.size() < 2) {
    layer.Fail(fmt::format("should be called on at least two inputs, got {}", inputs.size()),
               "inputs: [FEATURE, FEATURE]");
  }
  const NameScope nodes = layer.Nodes();
  const int rank = inputs.front().shape().known_rank() ? inputs.front().shape().rank() : 0;
  std::vector<Value> columns;
  for (const Value& x : inputs) {
    const bool is_one = x.shape().known_rank() && x.shape().rank() == rank &&
                        (rank == 1 || (rank == 2 && x.shape().dim(1) == 1));
    if (!is_one) {
      layer.Fail(fmt::format("All inputs should have shape [batch] or [batch, 1], and one is {}",
                             x.shape().Text()));
    }
    columns.push_back(WordsOrIntegers(layer, rank == 1 ? ops::ExpandDims(x, 1) : x));
  }
  Value ids = ops::SparseCrossHashed(columns, num_bins);
  ids = ops::Reshape(ids, rank == 1 ? Shape{kUnknownDim} : Shape{kUnknownDim, 1});
  return layer.Output(Encoded(layer, context, ids, output_mode, num_bins));
}

}  // namespace tpuest::nn
