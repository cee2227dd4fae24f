#include <cmath>
#include <span>

#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

// A file with the given Examples.
class WrittenRecords {
 public:
  ExampleWriter example;
  void Add() { records_.push_back(example.Finish()); }
  // Returns options without features to parse.
  [[nodiscard]] InputFnOptions Write() const {
    RecordWriter writer(path(), Compression::kNone, false);
    for (const std::string& record : records_) writer.Write(record);
    writer.Close();
    InputFnOptions options = ValuesOf({path()});
    options.parse_example.clear();
    return options;
  }
  [[nodiscard]] std::string path() const { return folder_.File("r.tfrecords"); }

 private:
  TemporaryFolder folder_;
  std::vector<std::string> records_;
};

VarLenFeature VarLen(const std::string& dtype) {
  VarLenFeature feature;
  feature.dtype = dtype;
  return feature;
}

FixedLenFeature WithDefault(FixedLenFeature feature, const std::string& value) {
  feature.default_value = Raw{value};
  return feature;
}

}  // namespace

TEST_CASE("FixedLenFeatures of each type and shape come as tensors") {
  WrittenRecords records;
  for (int64_t i = 0; i < 3; ++i) {
    const float x = static_cast<float>(i) + 0.5F;
    records.example.Int("id", i);
    records.example.Floats("grid", std::vector<float>{x, -x});
    records.example.Bytes("name", i == 1 ? "one" : "");
    records.Add();
  }
  InputFnOptions options = records.Write();
  options.parse_example["id"] = Fixed({}, "int64");
  options.parse_example["grid"] = Fixed({2, 1}, "float32");
  options.parse_example["name"] = Fixed({}, "string");
  const auto stream = Open(options);
  REQUIRE(stream->spec().features.size() == 3);
  CHECK(stream->spec().features[0].name == "grid");
  CHECK(stream->spec().features[0].shape == Shape({2, 1}));
  CHECK(stream->spec().features[1].dtype == DType::kInt64);
  CHECK(stream->spec().features[2].dtype == DType::kString);
  const std::optional<Batch> batch = stream->Next();
  CHECK(batch->features[0].shape() == Shape({3, 2, 1}));
  CHECK(Numbers(batch->features[0]) == std::vector<double>{0.5, -0.5, 1.5, -1.5, 2.5, -2.5});
  CHECK(Ints(batch->features[1]) == std::vector<int64_t>{0, 1, 2});
  CHECK(batch->features[2].strings()[0].empty());
  CHECK(batch->features[2].strings()[1] == "one");
}

TEST_CASE("without parse_example the records themselves are the column `serialized`") {
  WrittenRecords records;
  records.example.Int("id", 1);
  records.Add();
  const auto stream = Open(records.Write());
  CHECK(stream->spec().features[0].name == "serialized");
  const std::optional<Batch> batch = stream->Next();
  ExampleWriter same;
  same.Int("id", 1);
  CHECK(batch->features[0].strings()[0] == same.Finish());
}

TEST_CASE("default values replace absent features, one for all elements or one per element") {
  WrittenRecords records;
  records.example.Int("other", 1);
  records.Add();
  InputFnOptions options = records.Write();
  options.parse_example["a"] = WithDefault(Fixed({2}, "int64"), "7");
  options.parse_example["b"] = WithDefault(Fixed({2}, "float32"), "[1, 0.5]");
  options.parse_example["c"] = WithDefault(Fixed({}, "string"), "none");
  const std::optional<Batch> batch = Open(options)->Next();
  CHECK(Ints(batch->features[0]) == std::vector<int64_t>{7, 7});
  CHECK(Numbers(batch->features[1]) == std::vector<double>{1, 0.5});
  CHECK(batch->features[2].strings()[0] == "none");
  options.parse_example["b"] = WithDefault(Fixed({2}, "float32"), "[1, 2, 3]");
  const Thrown three = ErrorOf([&] { (void)MakeInputFn(options, "train"); });
  CHECK(three.code == Code::kUsage);
  CHECK(three.key == "input_fns.train.parse_example.b.default_value");
  options.parse_example["b"] = WithDefault(Fixed({2}, "float32"), "x");
  CHECK(Has(ErrorOf([&] { (void)MakeInputFn(options, "train"); }).message,
            "expected float32, found 'x'"));
}

TEST_CASE("VarLenFeatures are padded to the power of two at or above the longest of the batch") {
  WrittenRecords records;
  const std::vector<std::vector<int64_t>> lists = {{1, 2, 3}, {}, {4}, {5}, {}, {}};
  for (const std::vector<int64_t>& list : lists) {
    records.example.Ints("ids", list);
    records.example.Floats("weights", std::vector<float>(list.begin(), list.end()));
    std::vector<std::string_view> words(list.size(), "w");
    records.example.Bytes("words", words);
    records.Add();
  }
  InputFnOptions options = records.Write();
  options.parse_example["ids"] = VarLen("int64");
  options.parse_example["weights"] = VarLen("float32");
  options.parse_example["words"] = VarLen("string");
  CastMap cast;
  cast.in = "ids";
  cast.dtype = "int32";
  options.map = {cast};
  const auto stream = Open(options, {.batch_size = 3});
  CHECK(stream->spec().features[0].shape == Shape({kUnknownDim}));
  CHECK(stream->spec().features[0].dtype == DType::kInt32);
  std::optional<Batch> batch = stream->Next();
  CHECK(batch->features[0].shape() == Shape({3, 4}));
  CHECK(Ints(batch->features[0]) ==
        std::vector<int64_t>{1, 2, 3, -1, -1, -1, -1, -1, 4, -1, -1, -1});
  const std::span<const float> weights = batch->features[1].values<float>();
  for (const size_t i : {3, 4, 7, 9}) CHECK(std::isnan(weights[i]));
  CHECK(weights[2] == 3);
  CHECK(weights[8] == 4);
  CHECK(batch->features[2].strings()[2] == "w");
  CHECK(batch->features[2].strings()[3].empty());
  CHECK(batch->features[2].strings()[8] == "w");
  batch = stream->Next();
  CHECK(batch->features[0].shape() == Shape({3, 1}));
  CHECK(Ints(batch->features[0]) == std::vector<int64_t>{5, -1, -1});
}

TEST_CASE("a record that does not fit names file, record, feature, expected and found") {
  WrittenRecords records;
  records.example.Int("label", 1);
  records.Add();
  records.example.Bytes("label", "x");
  records.Add();
  records.example.Ints("label", std::vector<int64_t>{1, 2});
  records.Add();
  records.example.Int("lable", 1);
  records.Add();
  InputFnOptions options = records.Write();
  options.parse_example["label"] = Fixed({}, "int64");
  const auto stream = Open(options, {.batch_size = 1});
  CHECK(stream->Next().has_value());
  const auto error = [&](int64_t record) {
    stream->Seek({0, record});
    return ErrorOf([&] { (void)stream->Next(); });
  };
  const Thrown type = error(1);
  CHECK(type.code == Code::kData);
  CHECK(type.message == records.path() +
                            ": record 1: feature \"label\": expected int64_list of 1 "
                            "value (FixedLenFeature int64 []), found bytes_list of 1 "
                            "value");
  CHECK(Has(error(2).message, "record 2: feature \"label\""));
  CHECK(Has(error(2).message, "found int64_list of 2 values"));
  const Thrown name = error(3);
  CHECK(Has(name.message, "record 3: feature \"label\""));
  CHECK(Has(name.message, "found none; the record has lable"));
  CHECK(name.hint == "did you mean 'lable'?");
}

TEST_CASE("a record that is no tf.Example names file and record") {
  const TemporaryFolder folder;
  RecordWriter writer(folder.File("r"), Compression::kNone, false);
  writer.Write("this is text");
  writer.Close();
  const Thrown thrown = ErrorOf([&] { (void)Open(ValuesOf({folder.File("r")}))->Next(); });
  CHECK(thrown.code == Code::kData);
  CHECK(Has(thrown.message, folder.File("r") + ": record 0: "));
}

TEST_CASE("parse_example of a source that has columns is refused") {
  InputFnOptions options = RangeOf(3);
  options.parse_example["value"] = Fixed({}, "int64");
  const Thrown thrown = ErrorOf([&] { (void)MakeInputFn(options, "train"); });
  CHECK(thrown.code == Code::kUsage);
  CHECK(thrown.key == "input_fns.train.parse_example");
}

}  // namespace tpuest::data
