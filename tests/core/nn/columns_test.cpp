// Feature columns on small batches; the numbers are those of TensorFlow's own columns.

#include <doctest/doctest.h>

#include <limits>

#include "core/base/process/files.h"
#include "core/nn/columns/column_values.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"
#include "tests/temporary_folder.h"

namespace tpuest::nn {
namespace {

const float kNone = std::numeric_limits<float>::quiet_NaN();

// Four rows of lists: words with their weights, and numbers; and features with one value per
// example.
std::map<std::string, Tensor> Rows() {
  return {{"t", Tensor::Strings({4, 4}, {"a", "b", "a", "", "x", "", "", "", "", "", "", "", "c",
                                         "zz", "", ""})},
          {"w", Tensor::Of<float>({4, 4}, {1, 2, -0.5F, kNone, 3, kNone, kNone, kNone, kNone, kNone,
                                           kNone, kNone, 0.5F, 0, kNone, kNone})},
          {"u", Tensor::Of<int64_t>({4, 2}, {0, 3, 9, -1, -1, -1, 2, 1})},
          {"n", Tensor::Of<float>({4, 2}, {1, 5, 2, -1, 0, 0, 3, 10})},
          {"s", Tensor::Strings({4}, {"p", "q", "", "p"})},
          {"x", Tensor::Of<float>({4, 4}, {1, 2, 3, kNone, 4, kNone, kNone, kNone, kNone, kNone,
                                           kNone, kNone, 5, 6, 7, 8})}};
}

const std::vector<std::variant<int64_t, std::string>> kWords = {"a", "b", "c"};

FeatureColumns Columns() {
  return {
      {"voc", VocabularyListColumn{.key = "t", .vocabulary_list = kWords}},
      {"oov", VocabularyListColumn{.key = "t", .vocabulary_list = kWords, .num_oov_buckets = 2}},
      {"dfl", VocabularyListColumn{.key = "t", .vocabulary_list = kWords, .default_value = 1}},
      {"wv", WeightedCategoricalColumn{.categorical_column = "voc", .weight_feature_key = "w"}},
      {"hsh", HashBucketColumn{.key = "t", .hash_bucket_size = 7}},
      {"hu", HashBucketColumn{.key = "u", .hash_bucket_size = 7, .dtype = "int64"}},
      {"idn", IdentityColumn{.key = "u", .num_buckets = 4, .default_value = 1}},
      {"cr", CrossedColumn{.keys = {"t", "s"}, .hash_bucket_size = 11}},
      {"cr2", CrossedColumn{.keys = {"voc", "u"}, .hash_bucket_size = 11}},
      {"num", NumericColumn{.key = "n", .shape = int64_t{2}}},
      {"bucket", BucketizedColumn{.source_column = "num", .boundaries = {0, 2, 5}}},
      {"sequence", SequenceVocabularyListColumn{.key = "t", .vocabulary_list = kWords}}};
}

// The masks of values for "t" and "u", which are lists, and for the weights of "t".
std::map<std::string, Value> Present(Graph& graph) {
  const Tensor of_words = Tensor::Of<bool>({4, 4}, {true, true, true, false,     //
                                                    true, false, false, false,   //
                                                    false, false, false, false,  //
                                                    true, true, false, false});
  return {{"t", graph.Constant(of_words)},
          {"w", graph.Constant(of_words)},
          {"u", graph.Constant(Tensor::Of<bool>({4, 2}, {true, true, true, false,  //
                                                         false, false, true, true}))}};
}

// The values [row][i] of a column with this name; `table` replaces an embedding's rows.
std::vector<float> ValuesOf(const FeatureColumns& columns, const std::string& name,
                            const std::vector<float>& table = {}) {
  Session session;
  LayerContext layers{.graph = session.graph()};
  const ColumnSet set(columns);
  std::map<std::string, Value> features;
  for (const auto& [key, tensor] : Rows()) features[key] = session.graph().Constant(tensor, key);
  ColumnValues values(layers, set, features, Present(session.graph()));
  const Value dense = values.DenseOf(set.Select({name}, "columns")[0], "scope");
  session.Initialize();
  if (!table.empty()) {
    const Variable& variable = *session.graph().variables()[0];
    session.variables().Set(variable.name, Tensor::Of<float>(variable.shape, table));
  }
  return session.Floats(dense);
}

std::vector<float> IndicatorOf(const std::string& name) {
  FeatureColumns columns = Columns();
  columns["hot"] = IndicatorColumn{.categorical_column = name};
  return ValuesOf(columns, "hot");
}

std::vector<float> EmbeddingOf(const std::string& name, const std::string& combiner,
                               std::optional<double> max_norm = std::nullopt) {
  FeatureColumns columns = Columns();
  columns["rows"] =
      EmbeddingColumn{.categorical_column = name,
                      .embedding = {.dimension = 2, .combiner = combiner, .max_norm = max_norm}};
  return ValuesOf(columns, "rows", {-0.7F, -0.6F, -0.5F, -0.4F, -0.3F, -0.2F});
}

TEST_CASE("words become their position, a bucket by hash, or the default") {
  CHECK(IndicatorOf("voc") == std::vector<float>{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  CHECK(IndicatorOf("oov") ==
        std::vector<float>{2, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0});
  CHECK(IndicatorOf("dfl") == std::vector<float>{2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 1});
  CHECK(IndicatorOf("wv") == std::vector<float>{0.5F, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5F});
}

// A feature with values [B, K] or weights [B, L]: dense, or lists with the mask `there`.
struct Fed {
  Tensor values;
  std::vector<bool> there = {};
};

// Rows 1, 10 and 100 of a, b and d, each times its weight.
std::vector<float> WeighedSum(const Fed& words, const Fed& weights) {
  Session session;
  LayerContext layers{.graph = session.graph()};
  const FeatureColumns columns = {
      {"word", VocabularyListColumn{.key = "c", .vocabulary_list = {"a", "b", "d"}}},
      {"weighed",
       WeightedCategoricalColumn{.categorical_column = "word", .weight_feature_key = "share"}},
      {"rows", EmbeddingColumn{.categorical_column = "weighed",
                               .embedding = {.dimension = 1, .combiner = "sum"}}}};
  const ColumnSet set(columns);
  std::map<std::string, Value> features;
  std::map<std::string, Value> present;
  for (const auto& [key, fed] : {std::pair{"c", words}, std::pair{"share", weights}}) {
    const Shape open({kUnknownDim, fed.there.empty() ? fed.values.shape().dim(1) : kUnknownDim});
    features[key] = session.graph().Placeholder(fed.values.dtype(), open, key);
    if (fed.there.empty()) continue;
    present[key] = session.graph().Placeholder(DType::kBool, open, fmt::format("{}/there", key));
  }
  ColumnValues values(layers, set, features, present);
  const Value dense = values.DenseOf(set.Select({"rows"}, "columns")[0], "scope");
  std::vector<Feed> feeds = {{features["c"], {words.values}},
                             {features["share"], {weights.values}}};
  for (const auto& [key, fed] : {std::pair{"c", words}, std::pair{"share", weights}}) {
    if (fed.there.empty()) continue;
    Tensor mask(DType::kBool, fed.values.shape());
    std::copy(fed.there.begin(), fed.there.end(), mask.data<bool>());
    feeds.push_back({present[key], {mask}});
  }
  session.Initialize();
  const Variable& table = *session.graph().variables()[0];
  session.variables().Set(table.name, Tensor::Of<float>(table.shape, {1, 10, 100}));
  return session.Floats(dense, feeds);
}

Fed Words(const Shape& shape, const std::vector<std::string>& words, std::vector<bool> there = {}) {
  return {Tensor::Strings(shape, words), std::move(there)};
}

Fed Weights(const Shape& shape, const std::vector<float>& weights, std::vector<bool> there = {}) {
  return {Tensor::Of<float>(shape, weights), std::move(there)};
}

// The numbers are TensorFlow's, whose batch of 3 values with 2 weights ends with "Incompatible
// shapes: [3] vs. [2]".
TEST_CASE("each example has as many weights as values") {
  const Fed lists = Words({2, 2}, {"a", "b", "d", ""}, {true, true, true, false});
  const Fed as_many = Weights({2, 2}, {2, 3, 5, kNone}, {true, true, true, false});
  CHECK(WeighedSum(lists, as_many) == std::vector<float>{32, 500});
  // In dense input, 0 is not a weight, as '' is not a value.
  CHECK(WeighedSum(lists, Weights({2, 2}, {1, 2, 3, 0})) == std::vector<float>{21, 300});
  CHECK(WeighedSum(Words({3, 1}, {"a", "", "d"}), Weights({3, 1}, {1, 0, 2})) ==
        std::vector<float>{1, 0, 200});
  // Lists that are padded to another width.
  const Fed wide = Weights({2, 4}, {2, 3, kNone, kNone, 5, kNone, kNone, kNone},
                           {true, true, false, false, true, false, false, false});
  CHECK(WeighedSum(lists, wide) == std::vector<float>{32, 500});

  const char* const kFewer =
      "feature 'share' has 2 weights for the 3 values of 'word' in a batch, expected one for each "
      "value in every example";
  CHECK_THROWS_WITH_AS((void)WeighedSum(lists, Weights({2, 1}, {2, 5}, {true, true})), kFewer,
                       Error);
  CHECK_THROWS_WITH_AS((void)WeighedSum(Words({3, 1}, {"a", "b", "d"}), Weights({3, 1}, {1, 0, 2})),
                       kFewer, Error);
  CHECK_THROWS_AS(
      (void)WeighedSum(lists, Weights({2, 2}, {2, kNone, 3, 5}, {true, false, true, true})), Error);
}

TEST_CASE("nodes of a column have names that TensorFlow takes, whatever the column's") {
  for (const char* key : {"${x}", "- dash", "_private"}) {
    Session session;
    LayerContext layers{.graph = session.graph()};
    const FeatureColumns columns = {
        {"c", VocabularyListColumn{.key = key, .vocabulary_list = kWords}}};
    const ColumnSet set(columns);
    const std::map<std::string, Value> features = {
        {key, session.graph().Constant(Tensor::Strings({2}, {"a", "b"}), "words")}};
    ColumnValues values(layers, set, features);
    (void)values.CategoriesOf("c");
    for (const auto& node : session.graph().nodes()) {
      CHECK(node->name().find_first_of("_-") != 0);
    }
  }
}

TEST_CASE("words and numbers are hashed as TensorFlow hashes them") {
  CHECK(IndicatorOf("hsh") == std::vector<float>{0, 0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0,
                                                 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0});
  CHECK(IndicatorOf("hu") == std::vector<float>{0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
                                                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0});
  CHECK(IndicatorOf("idn") == std::vector<float>{1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0});
}

TEST_CASE("crosses combine every value of a row; a word out of its vocabulary is crossed as -1") {
  CHECK(IndicatorOf("cr") == std::vector<float>{1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
                                                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                                0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
  CHECK(IndicatorOf("cr2") == std::vector<float>{0, 1, 2, 0, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
                                                 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0,
                                                 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 1, 0, 0, 0});
}

TEST_CASE("numbers are assigned to buckets") {
  const std::vector<float> expected = {0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0, 0, 0,
                                       0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  CHECK(ValuesOf(Columns(), "bucket") == expected);
}

TEST_CASE("embedded rows are combined") {
  CHECK(Near(EmbeddingOf("voc", "sum"), {-1.9, -1.6, 0, 0, 0, 0, -0.3, -0.2}));
  CHECK(Near(EmbeddingOf("voc", "mean"), {-0.6333333, -0.5333333, 0, 0, 0, 0, -0.3, -0.2}));
  CHECK(Near(EmbeddingOf("voc", "sqrtn"), {-1.0969655, -0.9237604, 0, 0, 0, 0, -0.3, -0.2}));
  CHECK(Near(EmbeddingOf("voc", "sum", 0.5), {-1.149691, -0.963139, 0, 0, 0, 0, -0.3, -0.2}));
}

TEST_CASE("weights multiply; mean and sqrtn leave out those that are not positive") {
  CHECK(Near(EmbeddingOf("wv", "sum"), {-1.35, -1.1, 0, 0, 0, 0, -0.15, -0.1}));
  CHECK(Near(EmbeddingOf("wv", "mean"), {-0.5666667, -0.4666667, 0, 0, 0, 0, -0.3, -0.2}));
  CHECK(Near(EmbeddingOf("wv", "sqrtn"), {-0.7602631, -0.6260990, 0, 0, 0, 0, -0.3, -0.2}));
}

TEST_CASE("a sequence is the mean over its steps, those of unknown words included") {
  CHECK(Near(EmbeddingOf("sequence", "sum"), {-1.9 / 3, -1.6 / 3, 0, 0, 0, 0, -0.15, -0.1}));
  CHECK(Near(IndicatorOf("sequence"), {2.0 / 3, 1.0 / 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5}));
  FeatureColumns columns;
  columns["x"] = SequenceNumericColumn{.key = "x"};
  CHECK(Near(ValuesOf(columns, "x"), {2, 4, 0, 6.5}));
  columns["x"] = SequenceNumericColumn{.key = "x", .shape = int64_t{2}, .default_value = 9};
  CHECK(Near(ValuesOf(columns, "x"), {2, 5.5, 4, 9, 0, 0, 6, 7}));
}

TEST_CASE("numbers are normalised") {
  FeatureColumns columns;
  columns["n"] =
      NumericColumn{.key = "n", .shape = int64_t{2}, .normalizer_fn = ZScore{.mean = 1, .std = 2}};
  CHECK(ValuesOf(columns, "n") == std::vector<float>{0, 2, 0.5F, -1, -0.5F, -0.5F, 1, 4.5F});
  columns["n"] =
      NumericColumn{.key = "n", .shape = int64_t{2}, .normalizer_fn = MinMax{.min = -1, .max = 9}};
  CHECK(Near(ValuesOf(columns, "n"), {0.2, 0.6, 0.3, 0, 0.1, 0.1, 0.4, 1.1}));
  columns["n"] = NumericColumn{
      .key = "n", .shape = int64_t{2}, .normalizer_fn = Formula{"(x - [[1, 2]]) * 2 + x[:, :1]"}};
  CHECK(Near(ValuesOf(columns, "n"), {1, 7, 4, -4, -2, -4, 7, 19}));
}

TEST_CASE("a normalizer that is a formula keeps shape and type") {
  const auto fault = [](const char* formula) {
    FeatureColumns columns;
    columns["n"] =
        NumericColumn{.key = "n", .shape = int64_t{2}, .normalizer_fn = Formula{formula}};
    try {
      (void)ValuesOf(columns, "n");
    } catch (const Error& error) {
      return error.message();
    }
    return std::string();
  };
  CHECK(fault("reduce_mean(x, 1)") ==
        "normalizer_fn returns float32 [4], expected the column's float32 [4,2]");
  CHECK(fault("x > 0") == "normalizer_fn returns bool [4,2], expected the column's float32 [4,2]");
  CHECK(fault("log1p(y)") == "there is no 'y'");
}

std::string FaultOf(const FeatureColumns& columns) {
  const std::vector<Fault> faults = ColumnSet(columns).Faults();
  return faults.empty() ? "" : faults[0].message;
}

TEST_CASE("invalid columns are refused in TensorFlow's words") {
  CHECK(FaultOf(Columns()).empty());
  CHECK(FaultOf({{"a", NumericColumn{.key = "a", .shape = int64_t{0}}}}) ==
        "shape dimensions must be greater than 0. shape: (0), key: a");
  CHECK(FaultOf({{"a", NumericColumn{.key = "a"}},
                 {"b", BucketizedColumn{.source_column = "a", .boundaries = {2, 1}}}}) ==
        "boundaries must be a sorted list.");
  CHECK(FaultOf({{"a", HashBucketColumn{.key = "a", .hash_bucket_size = 0}}}) ==
        "hash_bucket_size must be at least 1. hash_bucket_size: 0, key: a");
  CHECK(FaultOf({{"a", VocabularyListColumn{.key = "a", .vocabulary_list = {"x", "x"}}}}) ==
        "Duplicate keys in vocabulary_list, column_name: a");
  CHECK(FaultOf({{"a", HashBucketColumn{.key = "k", .hash_bucket_size = 3}},
                 {"b", CrossedColumn{.keys = {"a", "s"}, .hash_bucket_size = 5}}})
            .starts_with("categorical_column_with_hash_bucket is not supported for crossing."));
  CHECK(FaultOf({{"a", CrossedColumn{.keys = {"a", "s"}, .hash_bucket_size = 5}}}) ==
        "this column is one of its own keys");
  CHECK(FaultOf({{"a", IndicatorColumn{.categorical_column = "b"}}}) ==
        "'b' is not in feature_columns");
}

TEST_CASE("columns that contain themselves, or are too large to count, are refused") {
  const WeightedCategoricalColumn weighs_a{.categorical_column = "a", .weight_feature_key = "w"};
  CHECK(FaultOf({{"a", weighs_a}}) == "this weighted column refers to itself");
  CHECK(FaultOf({{"a", CrossedColumn{.keys = {"b", "s"}, .hash_bucket_size = 5}}, {"b", weighs_a}})
            .starts_with("crossed_column does not support weight_tensor"));
  CHECK(FaultOf({{"a", SharedEmbeddingColumns{.categorical_columns = {"b"},
                                              .embedding = {.dimension = 2}}},
                 {"b", WeightedCategoricalColumn{.categorical_column = "b",
                                                 .weight_feature_key = "w"}}}) ==
        "this weighted column refers to itself");
  CHECK(FaultOf({{"a", BucketizedColumn{.source_column = "n", .boundaries = {1, kNone, 0}}},
                 {"n", NumericColumn{.key = "n"}}}) == "boundaries must be a sorted list.");
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  CHECK(FaultOf({{"a", HashBucketColumn{.key = "k", .hash_bucket_size = kHuge}}})
            .starts_with("hash_bucket_size is 9223372036854775807 in k, expected at most"));
  CHECK(FaultOf({{"a",
                  VocabularyListColumn{
                      .key = "k", .vocabulary_list = kWords, .num_oov_buckets = kHuge}}})
            .starts_with("num_oov_buckets is 9223372036854775807"));
  CHECK(FaultOf({{"a", NumericColumn{.key = "k", .shape = std::vector<int64_t>{1 << 30, 1 << 30}}}})
            .starts_with("shape dimensions must be smaller."));
}

TEST_CASE("an indicator column wider than a row can be is refused") {
  const FeatureColumns columns = {
      {"h", HashBucketColumn{.key = "t", .hash_bucket_size = (int64_t{1} << 32) + 1}},
      {"hot", IndicatorColumn{.categorical_column = "h"}}};
  CHECK_THROWS_WITH_AS((void)ValuesOf(columns, "hot"),
                       "an indicator_column of 4294967297 buckets is too wide", Error);
}

TEST_CASE("a vocabulary must have words, and the default must be one of them") {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.File("none"), "", false);
  WriteFileAtomically(folder.File("two"), "a\r\nb\r\n", false);
  const auto of = [&](const std::string& file, std::optional<int64_t> other) {
    return FeatureColumns{{"v", VocabularyFileColumn{.key = "t",
                                                     .vocabulary_file = folder.File(file),
                                                     .default_value = other}},
                          {"hot", IndicatorColumn{.categorical_column = "v"}}};
  };
  CHECK(ValuesOf(of("two", std::nullopt), "hot") == std::vector<float>{2, 1, 0, 0, 0, 0, 0, 0});
  CHECK_THROWS_WITH_AS((void)ValuesOf(of("none", std::nullopt), "hot"),
                       doctest::Contains("the vocabulary is empty"), Error);
  CHECK_THROWS_WITH_AS((void)ValuesOf(of("two", 2), "hot"),
                       doctest::Contains("default_value 2 is not below the vocabulary's size 2"),
                       Error);
}

TEST_CASE("a model's columns are sorted, and of one name only once") {
  const FeatureColumns columns = Columns();
  const ColumnSet set(columns);
  const std::vector<ColumnRef> selected = set.Select({"num", "bucket", "cr", "wv"}, "model.x");
  std::vector<std::string> names;
  for (const ColumnRef& column : selected) names.push_back(column.name);
  CHECK(names == std::vector<std::string>{"n", "n_bucketized", "s_X_t", "t_weighted_by_w"});
  CHECK_THROWS_WITH_AS((void)set.Select({}, "model.x"), "feature_columns must not be empty.",
                       Error);
  try {
    (void)set.Select({"voc", "oov"}, "model.x");
    FAIL("two columns of one name");
  } catch (const Error& error) {
    CHECK(error.message().starts_with("Duplicate feature column name found for columns: "));
    CHECK(error.faults()[0].key == "model.x");
  }
}

TEST_CASE("what tf.Examples must hold follows from the columns") {
  const FeatureColumns columns = Columns();
  const ColumnSet set(columns);
  const auto spec = set.ParseSpec(set.Select({"bucket", "cr", "wv", "idn"}, ""));
  CHECK(spec.at("n").shape == Shape({2}));
  CHECK_FALSE(spec.at("t").shape.has_value());
  CHECK(spec.at("s").dtype == DType::kString);
  CHECK(spec.at("w").dtype == DType::kFloat);
  CHECK(spec.at("u").dtype == DType::kInt64);
  const FeatureColumns twice = {{"a", HashBucketColumn{.key = "k", .hash_bucket_size = 3}},
                                {"b", IdentityColumn{.key = "k", .num_buckets = 3}}};
  const ColumnSet both(twice);
  CHECK_THROWS_WITH_AS((void)both.ParseSpec({{"a", "k", ""}, {"b", "k", ""}}),
                       "feature_columns contain different parse_spec for key k. Given "
                       "VarLenFeature(dtype=string) and VarLenFeature(dtype=int64)",
                       Error);
  CHECK(both.ReadAsLists({{"a", "k", ""}, {"b", "k", ""}}) == std::set<std::string>{"k"});
  CHECK(set.ReadAsLists(set.Select({"bucket", "cr", "wv"}, "")).contains("w"));
  CHECK_FALSE(set.ReadAsLists(set.Select({"bucket", "cr", "wv"}, "")).contains("n"));
}

// ---- TensorFlow's tf.feature_column on the same features, dense and as SparseTensors ------------

// The ids of a column, [row][value]; -1 where there is none.
std::vector<float> IdsOf(const CrossedColumn& cross, const std::map<std::string, Tensor>& tensors,
                         const std::map<std::string, Tensor>& lists = {}) {
  Session session;
  LayerContext layers{.graph = session.graph()};
  const FeatureColumns columns = {
      {"cross", cross},
      {"years", NumericColumn{.key = "age"}},
      {"age_bucketized", BucketizedColumn{.source_column = "years", .boundaries = {10, 20, 30}}},
      {"voc", VocabularyListColumn{.key = "v", .vocabulary_list = {"a", "b"}}}};
  const ColumnSet set(columns);
  std::map<std::string, Value> features;
  std::map<std::string, Value> present;
  for (const auto& [key, tensor] : tensors) features[key] = session.graph().Constant(tensor, key);
  for (const auto& [key, tensor] : lists) present[key] = session.graph().Constant(tensor);
  ColumnValues values(layers, set, features, present);
  return session.Floats(values.CategoriesOf("cross").ids);
}

CrossedColumn Cross(const std::vector<std::string>& keys) {
  return {.keys = keys, .hash_bucket_size = 1000};
}

TEST_CASE("a cross hashes columns and lists first, then features of dense input") {
  const Tensor age = Tensor::Of<float>({3}, {5, 15, 35});
  const Tensor sex = Tensor::Strings({3}, {"m", "f", "m"});
  CHECK(IdsOf(Cross({"sex", "age_bucketized"}), {{"sex", sex}, {"age", age}}) ==
        std::vector<float>{935, 438, 537});
  CHECK(IdsOf(Cross({"age_bucketized", "sex"}), {{"sex", sex}, {"age", age}}) ==
        std::vector<float>{935, 438, 537});
  CHECK(IdsOf(Cross({"sex", "age_bucketized"}), {{"sex", sex.Reshaped({3, 1})}, {"age", age}},
              {{"sex", Tensor::Of<bool>({3, 1}, {true, true, true})}}) ==
        std::vector<float>{390, 689, 2});
  const Tensor lists = Tensor::Strings({3, 2}, {"m", "", "", "", "f", "m"});
  CHECK(IdsOf(Cross({"sex", "age_bucketized"}), {{"sex", lists}, {"age", age}},
              {{"sex", Tensor::Of<bool>({3, 2}, {true, true, false, false, true, true})}}) ==
        std::vector<float>{390, 600, -1, -1, 683, 2});
  const Tensor d = Tensor::Strings({3, 2}, {"x", "y", "y", "z", "", ""});
  const Tensor s = Tensor::Strings({3, 2}, {"m", "", "", "", "f", ""});
  CHECK(IdsOf(Cross({"d", "s"}), {{"d", d}, {"s", s}},
              {{"s", Tensor::Of<bool>({3, 2}, {true, true, false, false, true, false})}}) ==
        std::vector<float>{113, 561, 262, 554, -1, -1, -1, -1, 814, 814, -1, -1});
}

TEST_CASE("a cross takes '' and -1 of dense input as values; a column's are absent") {
  const Tensor sex = Tensor::Strings({3}, {"m", "", ""});
  const Tensor n = Tensor::Of<int64_t>({3}, {-1, -1, 3});
  CHECK(IdsOf(Cross({"sex", "n"}), {{"sex", sex}, {"n", n}}) == std::vector<float>{749, 969, 537});
  CHECK(IdsOf(Cross({"d", "voc"}), {{"d", Tensor::Strings({3}, {"x", "y", ""})},
                                    {"v", Tensor::Strings({3}, {"a", "zz", ""})}}) ==
        std::vector<float>{43, 808, -1});
}

TEST_CASE("'' and -1 within a list are values") {
  // {a, '', a}, {zz}, {} and {''}; {0, -1}, {9}, {} and {-1}.
  const Tensor t = Tensor::Strings({4, 3}, {"a", "", "a", "zz", "", "", "", "", "", "", "", ""});
  const Tensor n = Tensor::Of<int64_t>({4, 2}, {0, -1, 9, -1, -1, -1, -1, -1});
  const auto hot = [&](const FeatureColumn& column) {
    Session session;
    Graph& graph = session.graph();
    LayerContext layers{.graph = graph};
    const FeatureColumns columns = {{"c", column},
                                    {"hot", IndicatorColumn{.categorical_column = "c"}}};
    const ColumnSet set(columns);
    const std::map<std::string, Value> features = {{"t", graph.Constant(t)},
                                                   {"n", graph.Constant(n)}};
    ColumnValues values(
        layers, set, features,
        {{"t", graph.Constant(Tensor::Of<bool>({4, 3}, {true, true, true, true, false, false, false,
                                                        false, false, true, false, false}))},
         {"n", graph.Constant(Tensor::Of<bool>(
                   {4, 2}, {true, true, true, false, false, false, true, false}))}});
    return session.Floats(values.DenseOf(set.Select({"hot"}, "columns")[0], "scope"));
  };
  CHECK(hot(VocabularyListColumn{.key = "t", .vocabulary_list = kWords, .num_oov_buckets = 2}) ==
        std::vector<float>{2, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  CHECK(hot(VocabularyListColumn{.key = "t", .vocabulary_list = kWords, .default_value = 1}) ==
        std::vector<float>{2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0});
  CHECK(hot(HashBucketColumn{.key = "t", .hash_bucket_size = 7}) ==
        std::vector<float>{0, 0, 0, 0, 0, 2, 1, 0, 1, 0, 0, 0, 0, 0,
                           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  CHECK(hot(HashBucketColumn{.key = "n", .hash_bucket_size = 7, .dtype = "int64"}) ==
        std::vector<float>{0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0,
                           0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
  CHECK(hot(IdentityColumn{.key = "n", .num_buckets = 4, .default_value = 1}) ==
        std::vector<float>{1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0});
  CHECK(hot(VocabularyListColumn{.key = "n",
                                 .vocabulary_list = {int64_t{3}, int64_t{-1}, int64_t{0}}}) ==
        std::vector<float>{0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0});
}

}  // namespace
}  // namespace tpuest::nn
