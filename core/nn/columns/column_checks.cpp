#include "core/nn/columns/column_checks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "core/base/text.h"
#include "core/nn/job_place.h"

namespace tpuest::nn {
namespace {

std::string_view TypeOf(const FeatureColumn& column) {
  return std::visit([](const auto& c) { return std::decay_t<decltype(c)>::kType; }, column);
}

bool IsHashed(const FeatureColumn& column) {
  return std::holds_alternative<HashBucketColumn>(column) ||
         std::holds_alternative<SequenceHashBucketColumn>(column);
}

void CheckCount(std::string_view what, int64_t count, const std::string& key, const Place& place) {
  if (count <= kMostOfAColumn) return;
  Refuse(place,
         fmt::format("{} is {} in {}, expected at most {}", what, count, key, kMostOfAColumn));
}

void CheckOov(const std::string& key, int64_t buckets, bool has_default, const Place& place) {
  if (buckets < 0) Refuse(place, fmt::format("Invalid num_oov_buckets {} in {}.", buckets, key));
  CheckCount("num_oov_buckets", buckets, key, place);
  if (buckets > 0 && has_default) {
    Refuse(place, fmt::format("Can't specify both num_oov_buckets and default_value in {}.", key));
  }
}

void CheckNormalizer(const std::optional<Normalizer>& normalizer, const Place& place) {
  if (!normalizer) return;
  const auto* const z = std::get_if<ZScore>(&*normalizer);
  const auto* const m = std::get_if<MinMax>(&*normalizer);
  if (z != nullptr && z->std == 0) Refuse(place, "normalizer_fn: std is 0");
  if (m != nullptr && m->min == m->max) Refuse(place, "normalizer_fn: min and max are equal");
}

void CheckDefault(int64_t value, int64_t size, const std::string& key, const Place& place) {
  if (value < -1 || value >= size) {
    Refuse(place,
           fmt::format("default_value {} not in range [-1, {}), column_name {}", value, size, key));
  }
}
void CheckEmbedding(const EmbeddingOptions& embedding, const Place& place) {
  if (embedding.dimension < 1) {
    Refuse(place, fmt::format("Invalid dimension {}.", embedding.dimension));
  }
  if (embedding.dimension > kMostOfAColumn) {
    Refuse(place, fmt::format("dimension is {}, expected at most {}", embedding.dimension,
                              kMostOfAColumn));
  }
  if (embedding.max_norm && !(*embedding.max_norm > 0)) {
    Refuse(place,
           fmt::format("max_norm is {}, expected more than 0", NumberText(*embedding.max_norm)));
  }
}

// A cut counts by int32, as TensorFlow's.
void CheckFirst(std::string_view what, int64_t count, const Place& place) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (count <= kMost) return;
  Refuse(place, fmt::format("{} is {}, expected at most {}", what, count, kMost));
}

std::string ShapeText(const std::vector<std::optional<int64_t>>& shape) {
  std::vector<std::string> sizes;
  for (const auto& size : shape) sizes.push_back(size ? std::to_string(*size) : "None");
  return fmt::format("[{}]", Join(sizes, ", "));
}

// Checks what only the columns of a TPU have: where they are looked up, and how long sequences are.
struct TpuChecker {
  const ColumnSet& set;

  void CheckCategorical(std::string_view function, const std::string& name,
                        const Place& place) const {
    const FeatureColumn& column = set.At(name, place);
    if (!IsCategorical(column)) {
      Refuse(place, fmt::format("categorical_column for tpu {} must be type CategoricalColumn, got "
                                "{}.",
                                function, TypeOf(column)));
    }
    std::ignore = CategoricalOf(set, name, place, function);
  }
  // Where a TPU's column is looked up.
  template <class Column>
  void CheckLookup(const Column& c, const std::vector<std::string>& categorical) const {
    const TableLookup& lookup = c.lookup;
    const bool has_shape = lookup.tensor_core_shape && !lookup.tensor_core_shape->empty();
    if (has_shape && lookup.tensor_core_shape->size() != 2) {
      Refuse(c.place, fmt::format("tensor_core_shape must be size 2. Got {}.",
                                  ShapeText(*lookup.tensor_core_shape)));
    }
    const std::string device = lookup.embedding_lookup_device.value_or("tpu_embedding_core");
    if (device == "cpu") {
      Refuse(c.place,
             "Using TPUEmbeddingColumn with embedding_lookup_device=\"cpu\" during training is not "
             "supported.",
             "remove embedding_lookup_device: servers look up rows on their host");
    }
    if (device != kTensorCore && device != "tpu_embedding_core") {
      Refuse(c.place,
             "If set, embedding_lookup_device must be in ['cpu', 'tpu_tensor_core', "
             "'tpu_embedding_core']",
             fmt::format("embedding_lookup_device is '{}'", device));
    }
    if (device == kTensorCore) CheckTensorCore(c, has_shape, categorical);
  }
  void CheckSteps(const std::string& name, int64_t steps, const Place& place) const {
    const bool sequence = set.IsSequence(name);
    if (sequence && steps < 1) {
      Refuse(place, fmt::format("max_sequence_length must be greater than 0 for sequence columns. "
                                "Got max_sequence_length={} for sequence column {}.",
                                steps, set.NameOf(name)));
    }
    CheckFirst("max_sequence_length", steps, place);
    if (!sequence && steps != 0) {
      Refuse(place, fmt::format("Non zero max_seq_length={} specified for non sequence column {}.",
                                steps, set.NameOf(name)));
    }
  }

 private:
  template <class Column>
  void CheckTensorCore(const Column& c, bool has_shape,
                       const std::vector<std::string>& categorical) const {
    if (!has_shape) {
      Refuse(c.place,
             "Using embedding_lookup_device=tpu_tensor_core requires tensor_core_shape to be set.",
             "tensor_core_shape: [null, 8]");
    }
    const std::vector<std::optional<int64_t>>& shape = *c.lookup.tensor_core_shape;
    if (shape[1].value_or(0) < 1) {
      Refuse(c.place, fmt::format("tensor_core_shape is {}, expected [null, n] with n at least 1",
                                  ShapeText(shape)));
    }
    CheckFirst("tensor_core_shape", shape[1].value_or(0), c.place);
    for (const std::string& name : categorical) {
      if (set.IsSequence(name)) {
        Refuse(c.place,
               "embedding_lookup_device=tpu_tensor_core currently does not support sequence "
               "columns.");
      }
      if (std::holds_alternative<WeightedCategoricalColumn>(set.At(name, c.place))) {
        Refuse(c.place,
               fmt::format(
                   "embedding_lookup_device=tpu_tensor_core does not support the weights of '{}'",
                   name),
               "use the column without weights, or embedding_lookup_device: tpu_embedding_core");
      }
    }
    if (c.embedding.combiner == "sqrtn") {
      Refuse(c.place, "Dense TPU Embedding does not support combiner other than sum and mean.");
    }
  }
};

// Checks one column by its type.
struct Checker {
  const ColumnSet& set;
  TpuChecker on_tpu{set};

  void operator()(const NumericColumn& c) const {
    const int64_t n = Shape(DimsOf(c.shape, c.key)).elements();
    CheckNormalizer(c.normalizer_fn, c.place);
    const auto* const values =
        c.default_value ? std::get_if<std::vector<double>>(&*c.default_value) : nullptr;
    if (values != nullptr && static_cast<int64_t>(values->size()) != n) {
      Refuse(c.place, fmt::format("The shape of default_value must be equal to given shape. "
                                  "default_value has {} values, shape {}, key: {}",
                                  values->size(), n, c.key));
    }
  }
  void operator()(const SequenceNumericColumn& c) const {
    std::ignore = DimsOf(c.shape, c.key);
    CheckNormalizer(c.normalizer_fn, c.place);
  }
  void operator()(const BucketizedColumn& c) const {
    const NumericColumn& source = NumbersOf(set, c);
    if (DimsOf(source.shape, source.key).size() > 1) {
      Refuse(c.place, fmt::format("source_column must be one-dimensional column. Given: {}",
                                  c.source_column));
    }
    if (c.boundaries.empty()) Refuse(c.place, "boundaries must not be empty.");
    const auto& b = c.boundaries;
    // A NaN is in no order, even alone.
    const bool sorted = !std::isnan(b[0]) &&
                        std::adjacent_find(b.begin(), b.end(),
                                           [](double x, double y) { return !(x < y); }) == b.end();
    if (!sorted) {
      Refuse(c.place, "boundaries must be a sorted list.");
    }
  }
  template <bool sequence>
  void operator()(const VocabularyListColumnOf<sequence>& c) const {
    if (c.vocabulary_list.empty()) {
      Refuse(c.place, fmt::format("vocabulary_list [] must be non-empty, column_name: {}", c.key));
    }
    std::set<std::variant<int64_t, std::string>> seen;
    for (const auto& word : c.vocabulary_list) {
      if (word.index() != c.vocabulary_list[0].index()) {
        Refuse(c.place, fmt::format("vocabulary_list of {} mixes strings and numbers", c.key),
               "quote the numbers if they are strings");
      }
      if (!seen.insert(word).second) {
        Refuse(c.place, fmt::format("Duplicate keys in vocabulary_list, column_name: {}", c.key));
      }
    }
    if (c.is_text() != std::holds_alternative<std::string>(c.vocabulary_list[0])) {
      Refuse(c.place, fmt::format("dtype {} and vocabulary dtype do not match, column_name: {}",
                                  *c.dtype, c.key));
    }
    CheckOov(c.key, c.num_oov_buckets, c.default_value != -1, c.place);
    CheckDefault(c.default_value, set_size(c), c.key, c.place);
  }
  template <bool sequence>
  void operator()(const VocabularyFileColumnOf<sequence>& c) const {
    if (c.vocabulary_size && *c.vocabulary_size < 1) {
      Refuse(c.place, fmt::format("Invalid vocabulary_size in {}.", c.key));
    }
    CheckOov(c.key, c.num_oov_buckets, c.default_value.has_value(), c.place);
  }
  template <bool sequence>
  void operator()(const HashBucketColumnOf<sequence>& c) const {
    if (c.hash_bucket_size < 1) {
      Refuse(c.place, fmt::format("hash_bucket_size must be at least 1. hash_bucket_size: {}, "
                                  "key: {}",
                                  c.hash_bucket_size, c.key));
    }
    CheckCount("hash_bucket_size", c.hash_bucket_size, c.key, c.place);
  }
  template <bool sequence>
  void operator()(const IdentityColumnOf<sequence>& c) const {
    if (c.num_buckets < 1) {
      Refuse(c.place, fmt::format("num_buckets {} < 1, column_name {}", c.num_buckets, c.key));
    }
    CheckCount("num_buckets", c.num_buckets, c.key, c.place);
    if (c.default_value && (*c.default_value < 0 || *c.default_value >= c.num_buckets)) {
      Refuse(c.place, fmt::format("default_value {} not in range [0, {}), column_name {}",
                                  *c.default_value, c.num_buckets, c.key));
    }
  }
  void operator()(const WeightedCategoricalColumn& c) const {
    std::ignore =
        CategoricalOf(set, c.categorical_column, c.place, WeightedCategoricalColumn::kType);
  }
  void operator()(const CrossedColumn& c) const {
    if (c.keys.size() < 2) {
      Refuse(c.place,
             fmt::format("keys must be a list with length > 1. Given: [{}]", Join(c.keys, ", ")));
    }
    if (c.hash_bucket_size < 1) {
      Refuse(c.place,
             fmt::format("hash_bucket_size must be > 1. hash_bucket_size: {}", c.hash_bucket_size));
    }
    CheckCount("hash_bucket_size", c.hash_bucket_size, Join(c.keys, ", "), c.place);
    for (const std::string& leaf : set.LeavesOf(c)) {
      if (set.CrossesColumn(leaf) && IsHashed(set.At(leaf, c.place))) {
        Refuse(c.place,
               fmt::format("categorical_column_with_hash_bucket is not supported for crossing. "
                           "Hashing before crossing will increase probability of collision. "
                           "Instead, use the feature name as a string. Given: {}",
                           leaf));
      }
    }
  }
  void operator()(const IndicatorColumn& c) const {
    std::ignore = CategoricalOf(set, c.categorical_column, c.place, IndicatorColumn::kType);
  }
  void operator()(const EmbeddingColumn& c) const {
    std::ignore = CategoricalOf(set, c.categorical_column, c.place, EmbeddingColumn::kType);
    CheckEmbedding(c.embedding, c.place);
  }
  void operator()(const SharedEmbeddingColumns& c) const {
    CheckEmbedding(c.embedding, c.place);
    if (c.categorical_columns.empty()) Refuse(c.place, "categorical_columns must not be empty.");
    for (const std::string& name : c.categorical_columns) {
      std::ignore = CategoricalOf(set, name, c.place, SharedEmbeddingColumns::kType);
    }
    CheckOneSize(c.categorical_columns, c.place);
  }
  void operator()(const TpuEmbeddingColumn& c) const {
    on_tpu.CheckCategorical("embedding_column", c.categorical_column, c.place);
    CheckEmbedding(c.embedding, c.place);
    on_tpu.CheckLookup(c, {c.categorical_column});
    on_tpu.CheckSteps(c.categorical_column, c.max_sequence_length, c.place);
  }
  void operator()(const TpuSharedEmbeddingColumns& c) const {
    if (c.categorical_columns.empty()) Refuse(c.place, "categorical_columns must not be empty.");
    for (const std::string& name : c.categorical_columns) {
      on_tpu.CheckCategorical(" shared_embedding_columns", name, c.place);
    }
    const std::vector<int64_t> lengths = c.max_sequence_lengths.value_or(std::vector<int64_t>());
    if (!lengths.empty() && lengths.size() != c.categorical_columns.size()) {
      Refuse(c.place,
             fmt::format("max_sequence_lengths and categorical_columns must be of the same "
                         "length. len(max_sequence_lengths)={} len(categorical_columns)={}.",
                         lengths.size(), c.categorical_columns.size()));
    }
    CheckEmbedding(c.embedding, c.place);
    CheckOneSize(c.categorical_columns, c.place);
    on_tpu.CheckLookup(c, c.categorical_columns);
    for (size_t i = 0; i < c.categorical_columns.size(); ++i) {
      on_tpu.CheckSteps(c.categorical_columns[i], lengths.empty() ? 0 : lengths[i], c.place);
    }
  }

 private:
  template <class T>
  [[nodiscard]] static int64_t set_size(const T& c) {
    return static_cast<int64_t>(c.vocabulary_list.size());
  }
  void CheckOneSize(const std::vector<std::string>& names, const Place& place) const {
    const std::string& first = names[0];
    for (const std::string& name : names) {
      if (set.BucketsOf(name) == set.BucketsOf(first)) continue;
      Refuse(place, fmt::format("To use shared_embedding_column, all categorical_columns must "
                                "have the same number of buckets. Given column: {} with buckets: "
                                "{} does  not match column: {} with buckets: {}",
                                first, set.BucketsOf(first), name, set.BucketsOf(name)));
    }
  }
};

}  // namespace

void CheckColumn(const ColumnSet& set, const FeatureColumn& column) {
  AtPlace(PlaceOf(column), [&] { std::visit(Checker{set}, column); });
}

const FeatureColumn& CategoricalOf(const ColumnSet& set, const std::string& name, const Place& from,
                                   std::string_view what) {
  const FeatureColumn& column = set.At(name, from);
  if (!IsCategorical(column)) {
    Refuse(from, fmt::format("{} takes a categorical column, but '{}' is a {}", what, name,
                             TypeOf(column)));
  }
  std::set<const FeatureColumn*> seen;
  for (const FeatureColumn* at = &column;;) {
    const auto* const weighted = std::get_if<WeightedCategoricalColumn>(at);
    if (weighted == nullptr) return column;
    if (!seen.insert(at).second) Refuse(weighted->place, "this weighted column refers to itself");
    at = &set.At(weighted->categorical_column, weighted->place);
  }
}

const NumericColumn& NumbersOf(const ColumnSet& set, const BucketizedColumn& column) {
  const auto* const source =
      std::get_if<NumericColumn>(&set.At(column.source_column, column.place));
  if (source == nullptr) {
    Refuse(column.place,
           fmt::format("source_column must be a column generated with numeric_column(). Given: {}",
                       column.source_column));
  }
  return *source;
}

}  // namespace tpuest::nn
