#include "core/nn/columns/column_values.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "core/nn/columns/normalizer.h"
#include "core/nn/job_place.h"
#include "core/nn/vocabulary_file.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/lookup.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "core/ops/strings.h"

namespace tpuest::nn {
namespace {

Value Int64(Graph& graph, int64_t value) { return graph.Scalar<int64_t>(value); }

// A feature with one value an example as [B, 1]. Throws Error kUsage for a scalar.
Value AtLeastMatrix(Value x, const std::string& key) {
  if (!x.shape().known_rank() || x.shape().rank() == 0) {
    throw Error(Code::kUsage, fmt::format("Feature (key: {}) cannot have rank 0. Given: {}", key,
                                          x.shape().Text()));
  }
  return x.shape().rank() == 1 ? ops::ExpandDims(x, -1) : x;
}

Value Zero(Value like) { return like.graph().ScalarOf(like.dtype(), 0); }

// The width K of lists [B, K], or kUnknownDim.
int64_t Width(Value lists) { return lists.shape().dim(1); }

Value OnlyColumn(Value x) { return ops::Squeeze(x, {1}); }

// The quotient x [B, D] / y [B, 1], 0 where y is 0.
Value Over(Value x, Value y) { return ops::DivNoNan(x, y); }

Value CountOf(Value mask) {
  return ops::Sum(ops::Cast(mask, DType::kFloat), {1}, /*keep_dims=*/true);
}

// The rows [..., D], those longer than max_norm shortened to it.
Value Shortened(Value rows, double max_norm) {
  const NameScope scope(rows.graph(), "clip_by_norm");
  const Value squares = ops::Sum(ops::Square(rows), {-1}, /*keep_dims=*/true);
  const Value some = ops::Greater(squares, Zero(squares));
  const Value one = squares.graph().ScalarOf(DType::kFloat, 1);
  // The root has no gradient at 0, so it is taken of 1 instead.
  const Value norm = ops::SelectV2(some, ops::Sqrt(ops::SelectV2(some, squares, one)), squares);
  return ops::RealDiv(ops::Mul(rows, max_norm), ops::Maximum(norm, max_norm));
}

// A table from the words of a vocabulary_list to their positions.
Value ListTable(Graph& graph, const std::vector<std::variant<int64_t, std::string>>& list) {
  if (std::holds_alternative<std::string>(list[0])) {
    std::vector<std::string> words;
    for (const auto& word : list) words.push_back(std::get<std::string>(word));
    return ops::IndexTable(graph, words, DType::kInt64, "vocabulary");
  }
  std::vector<int64_t> keys;
  std::vector<int64_t> positions;
  for (const auto& word : list) {
    positions.push_back(static_cast<int64_t>(keys.size()));
    keys.push_back(std::get<int64_t>(word));
  }
  const Shape shape({static_cast<int64_t>(keys.size())});
  return ops::HashTable(graph, Tensor::Of(shape, keys), Tensor::Of(shape, positions), "vocabulary");
}

// The rows to look up, [B] or [B, K]. What is absent asks for row 0. A list that is not all absent
// then has no part in the gradient of that row; one that is adds zeros to it, as TensorFlow fills
// empty rows: an optimizer that touches a row for its being there touches row 0.
Value AskedRows(Value ids, Value present, const Combination& combination) {
  Graph& graph = ids.graph();
  if (combination.present_rows) {
    return ops::Maximum(ops::SelectV2(present, ids, Int64(graph, -1)), Zero(ids));
  }
  if (!combination.trains || ids.shape().rank() == 1) return ops::SelectV2(present, ids, Zero(ids));
  const Value others =
      ops::SelectV2(ops::Any(present, {1}, /*keep_dims=*/true), Int64(graph, -1), Int64(graph, 0));
  return ops::Maximum(ops::SelectV2(present, ids, others), Zero(ids));
}

}  // namespace

Value CombinedRows(const Variable& table, const Categories& categories,
                   const Combination& combination) {
  const bool single = Width(categories.ids) == 1;
  const auto column = [&](Value x) { return single && x.valid() ? OnlyColumn(x) : x; };
  const Value ids = column(categories.ids);
  Value weights = column(categories.weights);
  Value present;
  if (categories.there.valid()) present = ops::GreaterEqual(ids, Zero(ids));
  if (weights.valid() && combination.combiner != "sum") {
    const Value positive = ops::Greater(weights, Zero(weights));
    present = present.valid() ? ops::LogicalAnd(present, positive) : positive;
  }
  const auto rows_of = [&](Value asked) {
    return combination.start == nullptr ? ops::ResourceGather(table.handle, asked)
                                        : TableRows(table, *combination.start, asked);
  };
  Value rows;
  if (present.valid()) {
    const Value taken = rows_of(AskedRows(ids, present, combination));
    rows = ops::SelectV2(ops::ExpandDims(present, -1), taken, Zero(taken));
    if (weights.valid()) weights = ops::SelectV2(present, weights, Zero(weights));
  } else {
    rows = rows_of(ids);
  }
  if (combination.max_norm) rows = Shortened(rows, *combination.max_norm);
  if (weights.valid()) rows = ops::Mul(rows, ops::ExpandDims(weights, -1));
  const Value sum = single ? rows : ops::Sum(rows, {1});
  if (categories.sequence) return Over(sum, CountOf(categories.there));
  if (combination.combiner == "sum" || (single && !weights.valid())) return sum;
  if (single) weights = ops::ExpandDims(weights, -1);
  if (!weights.valid()) {
    weights = present.valid() ? ops::Cast(present, DType::kFloat)
                              : ops::OnesLike(ops::Cast(ids, DType::kFloat));
  }
  if (combination.combiner == "mean") return Over(sum, ops::Sum(weights, {1}, /*keep_dims=*/true));
  return Over(sum, ops::Sqrt(ops::Sum(ops::Square(weights), {1}, /*keep_dims=*/true)));
}

Categories FirstOf(const Categories& categories, int64_t n) {
  if (Width(categories.ids) != kUnknownDim && Width(categories.ids) <= n) return categories;
  const auto first = [n](Value x) {
    return x.valid() ? ops::StridedSlice(
                           x, {.begin = {0, 0}, .end = {0, n}, .begin_mask = 3, .end_mask = 1})
                     : x;
  };
  Categories result = categories;
  result.ids = first(categories.ids);
  result.weights = first(categories.weights);
  result.there = first(categories.there);
  return result;
}

// ---- features -----------------------------------------------------------------------------------

Value ColumnValues::Feature(const std::string& key) const {
  const auto found = features_.find(key);
  if (found != features_.end()) return AtLeastMatrix(found->second, key);
  std::vector<std::string> names;
  for (const auto& [name, value] : features_) names.push_back(name);
  throw Error(Code::kUsage, fmt::format("Feature {} is not in features dictionary.", key),
              fmt::format("the input_fn provides: {}", names.empty() ? "none" : Join(names, ", ")));
}

Value ColumnValues::Lists(const std::string& key, DType dtype) const {
  const Value feature = Feature(key);
  if (feature.shape().rank() != 2) {
    throw Error(Code::kUsage, fmt::format("feature '{}' is {}, expected [batch] or [batch, values]",
                                          key, feature.shape().Text()));
  }
  const bool text = feature.dtype() == DType::kString;
  if (text != (dtype == DType::kString) || (!text && !IsInteger(feature.dtype()))) {
    throw Error(Code::kUsage,
                fmt::format("Column dtype and SparseTensors dtype must be compatible. key: {}, "
                            "column dtype: {}, tensor dtype: {}",
                            key, NameOf(dtype), NameOf(feature.dtype())),
                "set the column's `dtype` to that of the feature");
  }
  return text ? feature : ops::Cast(feature, DType::kInt64);
}

Value ColumnValues::Present(const std::string& key, Value values) const {
  const auto found = present_.find(key);
  if (found != present_.end()) return found->second;
  Graph& graph = values.graph();
  if (values.dtype() == DType::kString) {
    return ops::NotEqual(values, graph.Constant(Tensor::Strings({}, {""}), "ignore_value"));
  }
  return ops::NotEqual(values, Int64(graph, -1));
}

// ---- categories ---------------------------------------------------------------------------------

struct ColumnValues::Categorize {
  ColumnValues& values;
  Graph& graph;

  Categories operator()(const BucketizedColumn& c) const {
    const auto& source = std::get<NumericColumn>(values.columns_.At(c.source_column, c.place));
    const Value buckets =
        ops::Cast(ops::Bucketize(values.Numbers(source), c.boundaries), DType::kInt64);
    const auto each = static_cast<int64_t>(c.boundaries.size()) + 1;
    const int64_t n = Width(buckets);
    Categories result{.ids = buckets, .buckets = each * n};
    if (n == 1) return result;
    // Several numbers have buckets of their own each.
    std::vector<int64_t> first;
    for (int64_t i = 0; i < n; ++i) first.push_back(i * each);
    result.ids = ops::AddV2(buckets, graph.Constant(Tensor::Of<int64_t>({n}, first)));
    return result;
  }
  template <bool sequence>
  Categories operator()(const VocabularyListColumnOf<sequence>& c) const {
    const Value lists = values.Lists(c.key, c.is_text() ? DType::kString : DType::kInt64);
    const Value table = ListTable(graph, c.vocabulary_list);
    return Found<sequence>(c.key, lists, table, static_cast<int64_t>(c.vocabulary_list.size()),
                           c.default_value, c.num_oov_buckets);
  }
  template <bool sequence>
  Categories operator()(const VocabularyFileColumnOf<sequence>& c) const {
    const DType dtype = c.dtype == "string" ? DType::kString : DType::kInt64;
    const auto size =
        static_cast<int64_t>(VocabularyLines(c.vocabulary_file, c.vocabulary_size).size());
    if (c.default_value && *c.default_value >= size) {
      Refuse(c.place, fmt::format("default_value {} is not below the vocabulary's size {}, "
                                  "column_name {}",
                                  *c.default_value, size, c.key));
    }
    const Value table = ops::FileTable(graph, c.vocabulary_file, size, dtype, "vocabulary");
    return Found<sequence>(c.key, values.Lists(c.key, dtype), table, size,
                           c.default_value.value_or(-1), c.num_oov_buckets);
  }
  template <bool sequence>
  Categories operator()(const HashBucketColumnOf<sequence>& c) const {
    const Value lists = values.Lists(c.key, c.dtype == "string" ? DType::kString : DType::kInt64);
    const Value ids = ops::StringToHashBucketFast(AsText(lists), c.hash_bucket_size);
    return Chosen<sequence>(values.Present(c.key, lists), ids, c.hash_bucket_size);
  }
  template <bool sequence>
  Categories operator()(const IdentityColumnOf<sequence>& c) const {
    const Value lists = values.Lists(c.key, DType::kInt64);
    Value ids = lists;
    if (c.default_value) {
      const Value outside = ops::LogicalOr(ops::Less(ids, Int64(graph, 0)),
                                           ops::GreaterEqual(ids, Int64(graph, c.num_buckets)));
      ids = ops::SelectV2(outside, Int64(graph, *c.default_value), ids);
      return Chosen<sequence>(values.Present(c.key, lists), ids, c.num_buckets);
    }
    return {.ids = ids,
            .there = values.Present(c.key, lists),
            .buckets = c.num_buckets,
            .sequence = sequence};
  }
  Categories operator()(const WeightedCategoricalColumn& c) const {
    Categories result = values.CategoriesOf(c.categorical_column);
    const Value weights = values.Feature(c.weight_feature_key);
    if (weights.dtype() == DType::kString) {
      Refuse(c.place,
             fmt::format("weights must be numbers, feature '{}' is string", c.weight_feature_key));
    }
    if (!Compatible(weights.shape(), result.ids.shape())) {
      Refuse(c.place,
             fmt::format("feature '{}' is {}, but the values that it weights are {}",
                         c.weight_feature_key, weights.shape().Text(), result.ids.shape().Text()));
    }
    result.weights = Paired(c, ops::Cast(weights, DType::kFloat), result);
    return result;
  }
  Categories operator()(const CrossedColumn& c) const {
    // TensorFlow's op hashes what is sparse before what is dense: columns and lists, then features
    // as they are.
    std::vector<std::string> leaves = values.columns_.LeavesOf(c);
    std::stable_partition(leaves.begin(), leaves.end(),
                          [&](const std::string& leaf) { return !IsDenseKey(leaf); });
    std::vector<Value> keys;
    Value present;
    for (const std::string& leaf : leaves) {
      auto [key, there] = CrossKey(leaf);
      keys.push_back(key);
      if (!there.valid() && Width(key) == 1) continue;
      if (!there.valid()) there = ops::Equal(key, key);
      present = present.valid() ? Pairs(present, there) : there;
    }
    // Hashed before the pairs are made: SparseCrossHashed tells where they are too many.
    const Value ids =
        ops::SparseCrossHashed(keys, c.hash_bucket_size, c.hash_key.value_or(ops::kCrossHashKey));
    if (!present.valid()) return {.ids = ids, .buckets = c.hash_bucket_size};
    return {.ids = ops::SelectV2(present, ids, Int64(graph, -1)),
            .there = present,
            .buckets = c.hash_bucket_size};
  }
  template <class T>
  Categories operator()(const T& c) const {
    Refuse(c.place, fmt::format("a {} is not a categorical column", T::kType));
  }

 private:
  // The weights in the places of the values that they weigh, [B, K]. TensorFlow pairs both in the
  // order that they have in the batch; where every example has as many of both, that is by place.
  Value Paired(const WeightedCategoricalColumn& c, Value weights, const Categories& of) const {
    const Value there = of.there.valid() ? of.there : ops::Equal(of.ids, of.ids);
    const Value as_many = AreAsMany(c, there, GivenWeights(c.weight_feature_key, weights));
    return ops::SelectV2(as_many, InWidthOf(of.ids, weights), Zero(weights));
  }

  // True where there is a weight: in dense input 0 is none, as TensorFlow's columns take it.
  Value GivenWeights(const std::string& key, Value weights) const {
    const auto found = values.present_.find(key);
    if (found != values.present_.end()) return found->second;
    return ops::Greater(ops::Abs(weights), Zero(weights));
  }

  // bool []: true. Where an example has more values than weights, or fewer, Error kData when it is
  // computed; in TensorFlow the counts of the batch, and 2 and more, are shapes that do not go
  // together.
  Value AreAsMany(const WeightedCategoricalColumn& c, Value there, Value given) const {
    const Value of_values = CountOf(there);
    const Value of_weights = CountOf(given);
    const Value apart = ops::Sum(ops::Abs(ops::Sub(of_values, of_weights)));
    const Value two = graph.ScalarOf(DType::kFloat, 2);
    const auto as_shape = [](Value count, Value more) {
      return ops::Cast(ops::Pack({ops::Sum(count), more}), DType::kInt32);
    };
    const Value shape = ops::BroadcastArgs(
        as_shape(of_values, two), as_shape(of_weights, ops::AddV2(two, apart)),
        {fmt::format("feature '{}' has %1 weights for the %0 values of '{}' in a batch, expected "
                     "one for each value in every example",
                     c.weight_feature_key, c.categorical_column),
         "in dense input, a weight of 0 and a value of '' or -1 count as absent; lists "
         "(VarLenFeature) can contain them"});
    const Value first = ops::StridedSlice(shape, {.begin = {0}, .end = {1}, .shrink_axis_mask = 1});
    return ops::GreaterEqual(first, Zero(first));
  }

  // The weights [B, L] cut or filled up to the width of ids [B, K].
  static Value InWidthOf(Value ids, Value weights) {
    if (Width(ids) == Width(weights) && Width(ids) != kUnknownDim) return weights;
    const auto width = [](Value x) {
      return ops::StridedSlice(ops::ShapeOf(x), {.begin = {1}, .end = {2}, .shrink_axis_mask = 1});
    };
    Graph& graph = ids.graph();
    const Value every = ops::Range(graph.Scalar<int32_t>(0), width(ids), graph.Scalar<int32_t>(1));
    return ops::GatherV2(ops::Pad(weights, {{0, 0}, {0, 1}}), ops::Minimum(every, width(weights)),
                         1);
  }

  static Value AsText(Value lists) {
    return lists.dtype() == DType::kString ? lists : ops::AsString(lists);
  }

  // Returns the ids where there is a value, otherwise -1.
  template <bool sequence>
  Categories Chosen(Value present, Value ids, int64_t buckets) const {
    return {.ids = ops::SelectV2(present, ids, Int64(graph, -1)),
            .there = present,
            .buckets = buckets,
            .sequence = sequence};
  }

  template <bool sequence>
  Categories Found(const std::string& key, Value lists, Value table, int64_t size, int64_t other,
                   int64_t oov) const {
    Value ids = ops::LookupTableFind(table, lists, Tensor::Scalar<int64_t>(oov > 0 ? -1 : other));
    if (oov > 0) {
      const Value bucket =
          ops::AddV2(ops::StringToHashBucketFast(AsText(lists), oov), Int64(graph, size));
      ids = ops::SelectV2(ops::GreaterEqual(ids, Int64(graph, 0)), ids, bucket);
    }
    return Chosen<sequence>(values.Present(key, lists), ids, size + oov);
  }

  // True for a key that is a feature of dense input.
  [[nodiscard]] bool IsDenseKey(const std::string& leaf) const {
    return !values.columns_.CrossesColumn(leaf) && !values.present_.contains(leaf);
  }

  // The values that a cross reads under a key, [B, K] strings or int64, and where they are there;
  // not valid(): everywhere. A dense feature's are, whatever they are.
  std::pair<Value, Value> CrossKey(const std::string& leaf) const {
    if (values.columns_.CrossesColumn(leaf)) {
      const Categories& source = values.CategoriesOf(leaf);
      // A value that is not in its vocabulary is crossed as -1.
      return {source.ids, source.there};
    }
    Value feature = values.Feature(leaf);
    if (feature.dtype() != DType::kString) feature = ops::Cast(feature, DType::kInt64);
    return {feature, IsDenseKey(leaf) ? Value() : values.Present(leaf, feature)};
  }

  // True where both are: of [B, K] and [B, L] makes [B, K * L], the last changing fastest.
  Value Pairs(Value a, Value b) const {
    if (Width(a) == 1 && Width(b) == 1) return ops::LogicalAnd(a, b);
    const Value both = ops::LogicalAnd(ops::ExpandDims(a, 2), ops::ExpandDims(b, 1));
    const Shape& shape = both.shape();
    if (shape.dim(1) != kUnknownDim && shape.dim(2) != kUnknownDim) {
      return ops::Reshape(both, Shape({kUnknownDim, shape.dim(1) * shape.dim(2)}));
    }
    const Value dims = ops::ShapeOf(both);
    const auto part = [&](int64_t from, int64_t to) {
      return ops::StridedSlice(dims, {.begin = {from}, .end = {to}});
    };
    const Value width = ops::Mul(part(1, 2), part(2, 3));
    return ops::Reshape(both, ops::ConcatV2({part(0, 1), width}, 0));
  }
};

namespace {

// TensorFlow's nodes begin with a letter, a digit or a dot.
std::string NodeScopeOf(std::string_view column_name) {
  std::string scope = ScopeOf(column_name);
  return scope.starts_with('_') || scope.starts_with('-') ? "x" + scope : scope;
}

}  // namespace

const Categories& ColumnValues::CategoriesOf(const std::string& job_name) {
  const auto found = categories_.find(job_name);
  if (found != categories_.end()) return found->second;
  const FeatureColumn& column = columns_.At(job_name, {});
  Graph& graph = layers_.graph;
  const NameScope scope(graph, NodeScopeOf(columns_.NameOf(job_name)));
  const Categories categories = AtPlace(graph, PlaceOf(column), [&] {
    return std::visit(Categorize{*this, graph}, column);
  });
  return categories_[job_name] = categories;
}

// ---- numbers ------------------------------------------------------------------------------------

Value ColumnValues::Numbers(const NumericColumn& column) const {
  const Value feature = Feature(column.key);
  if (feature.dtype() == DType::kString) {
    throw Error(Code::kUsage,
                fmt::format("The corresponding Tensor of numerical column must be a Tensor of "
                            "numbers. key: {}, dtype: string",
                            column.key));
  }
  const std::vector<int64_t> dims = DimsOf(column.shape, column.key);
  const int64_t n = Shape(dims).elements();
  int64_t found = 1;
  for (int axis = 1; axis < feature.shape().rank(); ++axis) {
    found = feature.shape().dim(axis) == kUnknownDim ? -1 : found * feature.shape().dim(axis);
    if (found < 0) break;
  }
  if (found >= 0 && found != n) {
    throw Error(Code::kUsage,
                fmt::format("feature '{}' has {} numbers per example, but its column has {}",
                            column.key, found, n),
                "set the column's `shape` to that of the feature");
  }
  Value x = ops::Cast(feature, DType::kFloat);
  const auto flat = [&](Value of) { return ops::Reshape(of, Shape({kUnknownDim, n})); };
  if (dims.size() > 1 && column.normalizer_fn &&
      std::holds_alternative<Formula>(*column.normalizer_fn)) {
    // Its axes are the column's.
    std::vector<int64_t> batched = dims;
    batched.insert(batched.begin(), kUnknownDim);
    return flat(Normalized(ops::Reshape(x, Shape(batched)), column.normalizer_fn));
  }
  if (x.shape().rank() != 2 || found < 0) x = flat(x);
  return Normalized(x, column.normalizer_fn);
}

// The mean over the steps of a sequence. Every n-th number is summed apart, so that no list has to
// be filled up.
Value ColumnValues::MeanOverSteps(const SequenceNumericColumn& column) const {
  const Value lists = Feature(column.key);
  if (!IsFloating(lists.dtype()) || lists.shape().rank() != 2) {
    throw Error(Code::kUsage,
                fmt::format("feature '{}' is {} {}, expected float32 [batch, values]", column.key,
                            NameOf(lists.dtype()), lists.shape().Text()),
                "parse_example: {type: VarLenFeature, dtype: float32}");
  }
  const int64_t n = Shape(DimsOf(column.shape, column.key)).elements();
  const Value there = ops::LogicalNot(ops::IsNan(lists));
  const Value x = ops::SelectV2(there, Normalized(lists, column.normalizer_fn), Zero(lists));
  const Value length = ops::Ceil(ops::RealDiv(CountOf(there), static_cast<double>(n)));
  std::vector<Value> means;
  for (int64_t i = 0; i < n; ++i) {
    const ops::StridedSliceOptions every{
        .begin = {0, i}, .end = {0, 0}, .strides = {1, n}, .begin_mask = 1, .end_mask = 3};
    const auto part = [&](Value of) { return n == 1 ? of : ops::StridedSlice(of, every); };
    Value sum = ops::Sum(part(x), {1}, /*keep_dims=*/true);
    if (column.default_value != 0) {
      const Value missing = ops::Sub(length, CountOf(part(there)));
      sum = ops::AddV2(sum, ops::Mul(missing, column.default_value));
    }
    means.push_back(Over(sum, length));
  }
  return means.size() == 1 ? means[0] : ops::ConcatV2(means, 1);
}

Value ColumnValues::Indicator(const Categories& categories) const {
  if (categories.buckets > std::numeric_limits<int>::max()) {
    throw Error(Code::kUsage,
                fmt::format("an indicator_column of {} buckets is too wide", categories.buckets),
                "use an embedding_column, which is narrower");
  }
  const bool single = Width(categories.ids) == 1;
  const auto column = [&](Value x) { return single ? OnlyColumn(x) : x; };
  Value hot = ops::OneHot(column(categories.ids), {.depth = static_cast<int>(categories.buckets)});
  if (categories.weights.valid()) {
    const Value present = ops::GreaterEqual(categories.ids, Zero(categories.ids));
    const Value weights = ops::SelectV2(present, categories.weights, Zero(categories.weights));
    hot = ops::Mul(hot, ops::ExpandDims(column(weights), -1));
  }
  const Value sum = single ? hot : ops::Sum(hot, {1});
  return categories.sequence ? Over(sum, CountOf(categories.there)) : sum;
}

Value ColumnValues::Embedding(const std::string& variable, const Categories& categories,
                              const EmbeddingOptions& options, const Place& place) {
  Graph& graph = layers_.graph;
  const OriginScope origin(graph, place);
  const Variable* table = graph.FindVariable(variable);
  const auto dimension = static_cast<double>(options.dimension);
  const TableStart start{Shape({categories.buckets, options.dimension}),
                         options.initializer.value_or(TruncatedNormalInitializer{
                             .mean = 0, .stddev = 1 / std::sqrt(dimension)})};
  if (table == nullptr) {
    table = AddWeight(layers_, variable, start.shape, start.initializer, options.trainable);
  }
  return CombinedRows(*table, categories,
                      {.combiner = options.combiner,
                       .max_norm = options.max_norm,
                       .trains = layers_.training,
                       .present_rows = on_tpu_,
                       .start = &start});
}

struct ColumnValues::Densify {
  ColumnValues& values;
  const ColumnRef& column;
  const std::string& scope;

  Value operator()(const NumericColumn& c) const { return values.Numbers(c); }
  Value operator()(const SequenceNumericColumn& c) const { return values.MeanOverSteps(c); }
  Value operator()(const BucketizedColumn& /*c*/) const {
    return values.Indicator(values.CategoriesOf(column.job_name));
  }
  Value operator()(const IndicatorColumn& c) const {
    return values.Indicator(values.CategoriesOf(c.categorical_column));
  }
  Value operator()(const EmbeddingColumn& c) const {
    const std::string variable =
        fmt::format("{}/{}/embedding_weights", scope, ScopeOf(column.name));
    return values.Embedding(variable, values.CategoriesOf(c.categorical_column), c.embedding,
                            c.place);
  }
  Value operator()(const SharedEmbeddingColumns& c) const {
    return values.Embedding(ScopeOf(SharedName(values.columns_, c)),
                            values.CategoriesOf(column.member), c.embedding, c.place);
  }
  Value operator()(const TpuEmbeddingColumn& c) const {
    const std::string variable =
        fmt::format("{}/{}/embedding_weights", scope, ScopeOf(column.name));
    return values.Embedding(variable, Kept(c.categorical_column, c.max_sequence_length, c.lookup),
                            c.embedding, c.place);
  }
  Value operator()(const TpuSharedEmbeddingColumns& c) const {
    int64_t steps = 0;
    for (size_t i = 0; c.max_sequence_lengths && i < c.max_sequence_lengths->size(); ++i) {
      if (c.categorical_columns[i] == column.member) steps = (*c.max_sequence_lengths)[i];
    }
    return values.Embedding(ScopeOf(SharedName(values.columns_, c)),
                            Kept(column.member, steps, c.lookup), c.embedding, c.place);
  }
  template <class T>
  Value operator()(const T& c) const {
    Refuse(c.place,
           fmt::format("Items of feature_columns must be a DenseColumn. You can wrap a categorical "
                       "column with an embedding_column or indicator_column. Given: {}",
                       column.job_name));
  }

 private:
  // The values that count: the first steps of a sequence, what fits the tensor core, or all.
  [[nodiscard]] Categories Kept(const std::string& categorical, int64_t steps,
                                const TableLookup& lookup) const {
    const Categories& all = values.CategoriesOf(categorical);
    if (steps > 0) return FirstOf(all, steps);
    if (!lookup.on_tensor_core()) return all;
    return FirstOf(all, (*lookup.tensor_core_shape)[1].value_or(0));
  }
};

Value ColumnValues::DenseOf(const ColumnRef& column, const std::string& scope) {
  const FeatureColumn& options = columns_.At(column.job_name, {});
  return AtPlace(layers_.graph, PlaceOf(options), [&] {
    return std::visit(Densify{*this, column, scope}, options);
  });
}

Value ColumnValues::Record(const ColumnRef& column, const std::string& scope,
                           const std::function<Value()>& build) {
  Graph& graph = layers_.graph;
  const FeatureColumn& options = columns_.At(column.job_name, {});
  const OriginScope origin(graph, PlaceOf(options));
  const int first = graph.next_node();
  const Value x = build();
  const auto type = [](const auto& c) { return std::string_view(c.kType); };
  graph.AddLayer(fmt::format("{}/{}", scope, ScopeOf(column.name)), std::visit(type, options),
                 first, x);
  return x;
}

}  // namespace tpuest::nn
