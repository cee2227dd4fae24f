// Features of tf.Examples beyond fixed ones, and SequenceExamples. The expected values are those of
// tf.io.parse_example, tf.io.parse_sequence_example and tf.sparse.to_dense of TensorFlow 2.15.

#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

using Doubles = std::vector<double>;

void WriteExamples(const std::string& path, const std::vector<std::string>& examples) {
  RecordWriter writer(path, Compression::kNone, false);
  for (const std::string& example : examples) writer.Write(example);
  writer.Close();
}

struct FloatList {
  std::string name;
  std::vector<float> values;
};
struct IntList {
  std::string name;
  std::vector<int64_t> values;
};

std::string ExampleOf(const std::vector<FloatList>& floats, const std::vector<IntList>& ints = {}) {
  ExampleWriter example;
  for (const FloatList& feature : floats) example.Floats(feature.name, feature.values);
  for (const IntList& feature : ints) example.Ints(feature.name, feature.values);
  return example.Finish();
}

InputFnOptions ParsedFrom(const std::string& path, std::map<std::string, FeatureOptions> features) {
  InputFnOptions options = ValuesOf({path});
  options.parse_example = std::move(features);
  return options;
}

FixedLenSequenceFeature StepsFeature(std::vector<int64_t> shape, const std::string& dtype,
                                     bool allow_missing = true) {
  FixedLenSequenceFeature feature;
  feature.shape = std::move(shape);
  feature.dtype = dtype;
  feature.allow_missing = allow_missing;
  return feature;
}

SparseFeature SparseOf(int64_t size, const std::string& dtype = "float32") {
  SparseFeature feature;
  feature.index_key = "ix";
  feature.value_key = "v";
  feature.dtype = dtype;
  feature.size = size;
  return feature;
}

// A field of bytes of a protocol buffer, encoded by hand.
std::string ProtoField(int number, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  REQUIRE(bytes.size() < 128);
  field += static_cast<char>(bytes.size());
  return field + bytes;
}

std::string IntFeature(const std::vector<int>& values) {
  std::string run;
  for (const int value : values) run += static_cast<char>(value);
  return ProtoField(3, ProtoField(1, run));
}

std::string ListOf(const std::string& name, const std::vector<std::vector<int>>& steps) {
  std::string list;
  for (const std::vector<int>& step : steps) list += ProtoField(1, IntFeature(step));
  return ProtoField(1, ProtoField(1, name) + ProtoField(2, list));
}

// {context: {id: [id]}, feature_lists: {a: steps, b: a list that is not read}}
std::string SequenceOf(int id, const std::vector<std::vector<int>>& steps) {
  const std::string context =
      ProtoField(1, ProtoField(1, ProtoField(1, "id") + ProtoField(2, IntFeature({id}))));
  return context + ProtoField(2, ListOf("a", steps) + ListOf("other", {{1}}));
}

InputFnOptions SequencesFrom(const std::string& path, int64_t width, bool allow_missing = false) {
  SequenceExampleOptions parse;
  parse.context_features = {{"id", Fixed({}, "int64")}};
  parse.sequence_features = {{"a", StepsFeature({width}, "int64", allow_missing)}};
  InputFnOptions options = ValuesOf({path});
  options.parse_example.clear();
  options.parse_sequence_example = parse;
  return options;
}

}  // namespace

TEST_CASE("a FixedLenSequenceFeature is filled up to the batch's longest") {
  const TemporaryFolder folder;
  const std::string path = folder.File("steps");
  WriteExamples(path,
                {ExampleOf({{"x", {1, 2, 3, 4}}}), ExampleOf({{"x", {5, 6}}}), ExampleOf({})});
  const Batch pairs = *Open(ParsedFrom(path, {{"x", StepsFeature({2}, "float32")}}))->Next();
  CHECK(pairs.features[0].shape() == Shape({3, 2, 2}));
  CHECK(Numbers(pairs.features[0]) == Doubles{1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 0, 0});
  FixedLenSequenceFeature filled = StepsFeature({}, "float32");
  filled.default_value = Raw{"-1"};
  const auto stream = Open(ParsedFrom(path, {{"x", filled}}), {.batch_size = 2});
  CHECK(stream->spec().lists.empty());
  CHECK(Numbers(stream->Next()->features[0]) == Doubles{1, 2, 3, 4, 5, 6, -1, -1});
  CHECK(stream->Next()->features[0].shape() == Shape({1, 0}));
  const auto fault = [&](const FeatureOptions& feature) {
    return ErrorOf([&] { (void)Open(ParsedFrom(path, {{"x", feature}}))->Next(); });
  };
  CHECK(Has(fault(StepsFeature({3}, "float32")).message,
            "expected float_list of elements of 3 values"));
  const Thrown missing = fault(StepsFeature({2}, "float32", false));
  CHECK(Has(missing.message, "found none"));
  CHECK(Has(missing.hint, "allow_missing: true"));
}

TEST_CASE("a SparseFeature is dense, and two may share their places") {
  const TemporaryFolder folder;
  const std::string path = folder.File("sparse");
  WriteExamples(path, {ExampleOf({{"v", {7, 8}}}, {{"ix", {4, 1}}}), ExampleOf({}),
                       ExampleOf({{"v", {9}}}, {{"ix", {0}}})});
  SparseFeature other = SparseOf(5, "int64");
  other.value_key = "ix";
  other.default_value = Raw{"-1"};
  const Batch batch = *Open(ParsedFrom(path, {{"dense", SparseOf(5)}, {"places", other}}))->Next();
  CHECK(Numbers(batch.features[0]) == Doubles{0, 8, 0, 0, 7, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0});
  CHECK(Numbers(batch.features[1]) ==
        Doubles{-1, 1, -1, -1, 4, -1, -1, -1, -1, -1, 0, -1, -1, -1, -1});
  const Thrown beyond = ErrorOf([&] {
    (void)Open(ParsedFrom(path, {{"d", SparseOf(4)}}))->Next();
  });
  CHECK(beyond.code == Code::kData);
  CHECK(Has(beyond.message, "record 0: feature \"d\": there is no place 4 of 4"));
  WriteExamples(path, {ExampleOf({{"v", {7, 8}}}, {{"ix", {1, 1}}})});
  CHECK(Has(ErrorOf([&] {
              (void)Open(ParsedFrom(path, {{"d", SparseOf(4)}}))->Next();
            }).message,
            "place 1 has two values"));
  WriteExamples(path, {ExampleOf({{"v", {7, 8}}}, {{"ix", {1}}})});
  CHECK(Has(ErrorOf([&] {
              (void)Open(ParsedFrom(path, {{"d", SparseOf(4)}}))->Next();
            }).message,
            "1 values of \"ix\" and 2 of \"v\""));
}

TEST_CASE("a RaggedFeature is a list of another feature's values") {
  const TemporaryFolder folder;
  const std::string path = folder.File("ragged");
  WriteExamples(path, {ExampleOf({}, {{"v", {1, 2, 3}}}), ExampleOf({}, {{"v", {4}}})});
  RaggedFeature ragged;
  ragged.dtype = "int64";
  ragged.value_key = "v";
  const auto stream = Open(ParsedFrom(path, {{"r", ragged}, {"v", VarLenFeature{"int64"}}}));
  CHECK(stream->spec().lists == std::vector<std::string>{"r", "v"});
  const Batch batch = *stream->Next();
  CHECK(Numbers(batch.features[0]) == Doubles{1, 2, 3, -1, 4, -1, -1, -1});
  CHECK(Numbers(batch.features[1]) == Numbers(batch.features[0]));
}

TEST_CASE("a SequenceExample has features of its own and of its steps") {
  const TemporaryFolder folder;
  const std::string path = folder.File("sequences");
  WriteExamples(path, {SequenceOf(7, {{1, 2}, {3, 4}, {5, 6}}), SequenceOf(8, {{9, 10}})});
  const Batch batch = *Open(SequencesFrom(path, 2))->Next();
  CHECK(batch.features[0].shape() == Shape({2, 3, 2}));
  CHECK(Numbers(batch.features[0]) == Doubles{1, 2, 3, 4, 5, 6, 9, 10, 0, 0, 0, 0});
  CHECK(Numbers(batch.features[1]) == Doubles{7, 8});
  const Thrown width = ErrorOf([&] { (void)Open(SequencesFrom(path, 3))->Next(); });
  CHECK(Has(width.message,
            "record 0: feature list \"a\", step 0: expected int64_list of 3 values, found "
            "int64_list of 2 values"));
  WriteExamples(
      path, {SequenceOf(7, {}),
             ProtoField(1, ProtoField(1, ProtoField(1, "id") + ProtoField(2, IntFeature({8}))))});
  CHECK(Has(ErrorOf([&] { (void)Open(SequencesFrom(path, 2))->Next(); }).message, "found none"));
  const Batch none = *Open(SequencesFrom(path, 2, true))->Next();
  CHECK(none.features[0].shape() == Shape({2, 0, 2}));
  InputFnOptions both = SequencesFrom(path, 2);
  both.parse_example = {{"id", Fixed({}, "int64")}};
  CHECK(ErrorOf([&] { (void)Open(both); }).key == "input_fns.train.parse_sequence_example");
}

}  // namespace tpuest::data
