// Parsing receivers return the values of the input_fn's stream.

#include "data/pipeline/serving.h"

#include <limits>

#include "core/backend/cpu/program.h"
#include "core/ops/all_ops.h"
#include "data/examples/convert.h"
#include "data/pipeline/optional_features.h"
#include "tests/data/fixture.h"
#include "tests/data/map_ops.h"

namespace tpuest::data {
namespace {

const OpRegistry& Registry() {
  static const OpRegistry registry(ops::AllOps());
  return registry;
}

// Runs a receiver on serialized examples [batch].
std::map<std::string, Tensor> Serve(const ServingInputReceiverFn& fn, const Tensor& examples) {
  Graph graph(Registry());
  const ServingInputReceiver receiver = fn(graph);
  CHECK(receiver.receiver_tensors.size() == 1);
  const Value fed = receiver.receiver_tensors.at("examples");
  CHECK(fed.name() == "input_example_tensor");
  ProgramSpec spec{
      .graph = &graph,
      .feeds = {{.placeholder = fed, .shape = examples.shape(), .cut = true, .value = examples}},
      .fetches = {},
      .targets = {},
      .guard = {}};
  for (const auto& [name, value] : receiver.features) spec.fetches.push_back(value);
  VariableStore variables;
  const auto program = MakeCpuBackend()->Compile(spec, {}, variables);
  const StepFeeds feeds = {{examples}};
  const std::vector<StepResult> results = program->Run({&feeds, 1});
  std::map<std::string, Tensor> features;
  size_t next = 0;
  for (const auto& [name, value] : receiver.features) {
    features[name] = results.front().fetches[next++].front();
  }
  return features;
}

std::unique_ptr<BatchStream> OpenSerialized(const InputFnOptions& options, int64_t batch_size) {
  InputContext context;
  context.mode = Mode::kEval;
  context.batch_size = batch_size;
  context.seed = 7;
  return SerializedInputFn(options, "train")(context);
}

// Features of the file's records, and of features that records may lack.
InputFnOptions SparseFrom(const std::string& path) {
  SparseFeature numbers;
  numbers.index_key = "ix";
  numbers.value_key = "v";
  numbers.dtype = "float32";
  numbers.size = 6;
  numbers.default_value = Raw{"[1, 0, 0, 0, 0, 2]"};
  SparseFeature places = numbers;
  places.value_key = "ix";
  places.dtype = "int64";
  places.default_value = Raw{"-1"};
  RaggedFeature ragged;
  ragged.dtype = "float32";
  ragged.value_key = "v";
  InputFnOptions options = ValuesOf({path});
  options.parse_example = {{"dense", numbers},
                           {"places", places},
                           {"r", ragged},
                           {"v", VarLenFeature{"float32"}},
                           {"y", Fixed({}, "int64")}};
  options.labels = "y";
  return options;
}

// A receiver computes the stream's features from the serialized records.
void CheckServed(const InputFnOptions& options) {
  constexpr int64_t kRows = 3;
  const auto stream = Open(options, {.batch_size = kRows});
  const Batch batch = *stream->Next();
  const Batch records = *OpenSerialized(options, kRows)->Next();
  REQUIRE(records.features.size() == 1);
  const auto served = Serve(ParsingServingInputReceiverFn(options, "train"), records.features[0]);
  REQUIRE(served.size() == batch.features.size());
  for (size_t i = 0; i < batch.features.size(); ++i) {
    const TensorSpec& feature = stream->spec().features[i];
    INFO("feature ", feature.name);
    REQUIRE(served.contains(feature.name));
    CHECK(SameBits(served.at(feature.name), batch.features[i]));
  }
}

InputFnOptions ServedDigits() {
  DigitsSource source;
  source.count = 10;
  InputFnOptions options;
  options.source = source;
  options.labels = "label";
  return options;
}

InputFnOptions ServedMapped(const std::string& rows, std::vector<MapOptions> map) {
  InputFnOptions options = SlicesOf({{"x", {rows}}});
  options.map = std::move(map);
  return options;
}

}  // namespace

TEST_CASE("sparse features, and lists of another name, are parsed as the stream parses them") {
  const TemporaryFolder folder;
  const std::string path = folder.File("sparse");
  RecordWriter writer(path, Compression::kNone, false);
  const float inf = std::numeric_limits<float>::infinity();
  for (const auto& [values, indices] :
       std::vector<std::pair<std::vector<float>, std::vector<int64_t>>>{
           {{7, inf, -0.5F, 3}, {4, 1, 5, 2}}, {{}, {}}, {{9}, {0}}}) {
    ExampleWriter example;
    example.Ints("ix", indices);
    example.Floats("v", values);
    example.Ints("y", std::vector<int64_t>{1});
    writer.Write(example.Finish());
  }
  writer.Close();
  CheckServed(SparseFrom(path));

  InputFnOptions texts = SparseFrom(path);
  std::get<SparseFeature>(texts.parse_example["dense"]).dtype = "string";
  std::get<SparseFeature>(texts.parse_example["dense"]).default_value.reset();
  const auto fault = [&] {
    return ErrorOf([&] {
      Graph graph(Registry());
      (void)ParsingServingInputReceiverFn(texts, "train")(graph);
    });
  };
  CHECK(fault().key == "input_fns.train.parse_example.dense");
  CHECK(Has(fault().message, "a parsing receiver does not read a SparseFeature of texts"));
  texts = SparseFrom(path);
  std::get<RaggedFeature>(texts.parse_example["r"]).dtype = "int64";
  CHECK(Has(fault().message, "feature \"v\" is read as "));
}

TEST_CASE("generated images are served from what convert writes") {
  InputFnOptions options = ServedDigits();
  auto reshape = On<ReshapeMap>("image");
  reshape.shape = {28, 28, 1};
  auto one_hot = On<OneHotMap>("label");
  one_hot.depth = 10;
  options.map = {Rescale("image", 1.0 / 255), reshape, one_hot};
  CheckServed(options);

  const TemporaryFolder folder;
  ConvertOptions convert;
  convert.source = options.source;
  convert.output = folder.File("digits");
  (void)ConvertToTFRecord(convert);
  TFRecordSource written;
  written.filenames = {convert.output};
  InputFnOptions raw;
  raw.source = written;
  const Batch direct = *OpenSerialized(options, 3)->Next();
  const Batch converted = *OpenSerialized(raw, 3)->Next();
  CHECK(SameBits(direct.features[0], converted.features[0]));
}

TEST_CASE("parsed records are served by the steps that the features need") {
  const TemporaryFolder folder;
  RecordWriter writer(folder.File("a"), Compression::kNone, false);
  ExampleWriter example;
  for (int i = 0; i < 3; ++i) {
    example.Bytes("image_raw", std::string(4, static_cast<char>(60 * i + 17)));
    example.Int("label", i);
    example.Floats("w", std::vector<float>{0.1F * static_cast<float>(i), -3});
    if (i == 1) example.Bytes("name", "one");
    writer.Write(example.Finish());
  }
  writer.Close();
  TFRecordSource source;
  source.filenames = {folder.File("a")};
  InputFnOptions options;
  options.source = source;
  options.parse_example = {{"image_raw", Fixed({}, "string")},
                           {"label", Fixed({}, "int64")},
                           {"name", Fixed({}, "string")},
                           {"w", Fixed({2}, "float32")}};
  std::get<FixedLenFeature>(options.parse_example["name"]).default_value = Raw{"none"};
  auto normalize = On<NormalizeMap>("w");
  normalize.mean = {0.3, 0.1};
  normalize.std = {3, 7};
  options.map = {Decode("image_raw", "image", "uint8", {2, 2}), Rescale("image", 1.0 / 255, -0.5),
                 Decode("image_raw", "big", "uint16", {2}, false), normalize,
                 CastTo("label", "int32")};
  options.features = {"image", "big", "w", "name"};
  options.labels = "label";
  CheckServed(options);

  Graph graph(Registry());
  const auto receiver = ParsingServingInputReceiverFn(options, "train")(graph);
  const Node& parse = *graph.FindNode("ParseExample/ParseExampleV2");
  CHECK(parse.Attr<std::vector<DType>>("Tdense") ==
        std::vector<DType>{DType::kString, DType::kString, DType::kFloat});
  CHECK(receiver.features.at("image").shape() == Shape{kUnknownDim, 2, 2});
  CHECK(receiver.features.at("image").dtype() == DType::kFloat);
  CHECK(receiver.features.at("name").shape() == Shape{kUnknownDim});

  Graph fixed(Registry());
  const auto eight = ParsingServingInputReceiverFn(options, "train", 8)(fixed);
  CHECK(eight.receiver_tensors.at("examples").shape() == Shape{8});
  CHECK(eight.features.at("w").shape() == Shape{8, 2});
}

TEST_CASE("every map op has the step's bits in the graph") {
  auto add = On<AddMap>("x");
  add.value = 7;
  auto add_tenth = On<AddMap>("x");
  add_tenth.value = 0.1;
  auto one_hot = On<OneHotMap>("x");
  one_hot.depth = 4;
  one_hot.on_value = 0.9;
  one_hot.off_value = 0.025;
  auto by_three = On<NormalizeMap>("x");
  by_three.mean = {0.7};
  by_three.std = {3};
  const std::string reals = "[[0.1, 7.3], [-2.6, 1e-9], [33.333, 250]]";
  const std::string wholes = "[[1, 2], [0, 255], [3, 100000]]";
  for (const std::string dtype : {"float32", "bfloat16", "float64"}) {
    INFO("dtype ", dtype);
    CheckServed(ServedMapped(reals, {CastTo("x", dtype), Rescale("x", 1.0 / 3, 0.7)}));
    CheckServed(ServedMapped(reals, {CastTo("x", dtype), by_three}));
    CheckServed(ServedMapped(reals, {CastTo("x", dtype), add_tenth}));
    CheckServed(
        ServedMapped(wholes, {CastTo("x", "int64"), Rescale("x", 0.1), CastTo("x", dtype)}));
  }
  for (const std::string dtype : {"int8", "uint8", "int16", "uint16", "int32", "int64"}) {
    INFO("dtype ", dtype);
    CheckServed(ServedMapped(wholes, {CastTo("x", dtype), add}));
    CheckServed(ServedMapped(wholes, {CastTo("x", dtype), one_hot}));
    CheckServed(ServedMapped(wholes, {CastTo("x", dtype), by_three}));
  }
  CheckServed(ServedMapped(wholes, {CastTo("x", "bool")}));
  CheckServed(ServedMapped("[true, false, true]", {CastTo("x", "int32")}));
  CheckServed(ServedMapped("[abcd, efgh, ijkl]",
                           {Decode("x", "y", "bool", {4}), Decode("x", "z", "float32", {})}));
}

TEST_CASE("a column may be read by several steps, and a feature by none") {
  InputFnOptions options = RangeOf(5);
  options.map = {CastTo("value", "float32", "real"), CastTo("value", "int32", "value"),
                 Rescale("real", 0.5), CastTo("value", "float64", "wide")};
  CheckServed(options);
  CheckServed(RangeOf(5));
}

TEST_CASE("records that nobody parses are fed as they are") {
  const TemporaryFolder folder;
  WriteValues(folder.File("a"), 0, 3);
  InputFnOptions options = ValuesOf({folder.File("a")});
  options.parse_example.clear();
  CheckServed(options);
  Graph graph(Registry());
  (void)ParsingServingInputReceiverFn(options, "train")(graph);
  CHECK(graph.nodes().size() == 1);
}

TEST_CASE("serialized records come in the input's order") {
  InputFnOptions options = RangeOf(20);
  options.shuffle = Full();
  const auto values = Open(options)->Next()->features[0];
  const auto records = OpenSerialized(options, 4)->Next()->features[0];
  CHECK(SameBits(values,
                 Serve(ParsingServingInputReceiverFn(options, "train"), records).at("value")));
}

namespace {

VarLenFeature ListOf(const std::string& dtype) {
  VarLenFeature list;
  list.dtype = dtype;
  return list;
}

// Records with lists of up to three values; the last two have none.
InputFnOptions WriteLists(const TemporaryFolder& folder) {
  RecordWriter writer(folder.File("a"), Compression::kNone, false);
  ExampleWriter example;
  for (const std::vector<int64_t>& ids :
       std::vector<std::vector<int64_t>>{{3, 4, 5}, {7}, {}, {}}) {
    example.Ints("ids", ids);
    example.Floats("weights", std::vector<float>(ids.begin(), ids.end()));
    example.Bytes("words", std::vector<std::string_view>(ids.size(), "w"));
    example.Int("label", static_cast<int64_t>(ids.size()));
    writer.Write(example.Finish());
  }
  writer.Close();
  TFRecordSource source;
  source.filenames = {folder.File("a")};
  InputFnOptions options;
  options.source = source;
  options.parse_example = {{"ids", ListOf("int64")},
                           {"weights", ListOf("float32")},
                           {"words", ListOf("string")},
                           {"label", Fixed({}, "int64")}};
  return options;
}

}  // namespace

TEST_CASE("lists are served as long as the longest of the batch, filled as the stream fills them") {
  const TemporaryFolder folder;
  InputFnOptions options = WriteLists(folder);
  options.map = {CastTo("ids", "int32")};
  const Tensor records = OpenSerialized(options, 4)->Next()->features[0];
  const auto served = Serve(ParsingServingInputReceiverFn(options, "train"), records);
  CHECK(SameBits(served.at("ids"),
                 Tensor::Of<int32_t>({4, 3}, {3, 4, 5, 7, -1, -1, -1, -1, -1, -1, -1, -1})));
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  CHECK(SameBits(served.at("weights"),
                 Tensor::Of<float>({4, 3}, {3, 4, 5, 7, kNone, kNone, kNone, kNone, kNone, kNone,
                                            kNone, kNone})));
  CHECK(SameBits(served.at("words"),
                 Tensor::Strings({4, 3}, {"w", "w", "w", "w", "", "", "", "", "", "", "", ""})));
  CHECK(SameBits(served.at("label"), Tensor::Of<int64_t>({4}, {3, 1, 0, 0})));

  const auto by_spec = Serve(
      ParsingServingInputReceiverFn(options.parse_example, "feature_columns", {}, {}), records);
  CHECK(by_spec.size() == 4);
  CHECK(SameBits(by_spec.at("words"), served.at("words")));
  CHECK(by_spec.at("ids").dtype() == DType::kInt64);
}

TEST_CASE("features are written as tf.Examples of a spec: of lists the values, as computed") {
  const TemporaryFolder folder;
  InputFnOptions options = WriteLists(folder);
  const auto spec = options.parse_example;
  const auto written = [&] {
    InputContext context;
    context.mode = Mode::kEval;
    context.batch_size = 4;
    return FeaturesAsExamples(MakeInputFn(options, "train"), spec)(context)->Next()->features[0];
  };
  CHECK(SameBits(written(), OpenSerialized(options, 4)->Next()->features[0]));

  auto add = On<AddMap>("ids");
  add.value = 7;
  options.map = {add, CastTo("weights", "float64"), CastTo("label", "float32", "unasked")};
  const auto served =
      Serve(ParsingServingInputReceiverFn(spec, "feature_columns", {"ids"}, {}), written());
  CHECK(SameBits(served.at("ids"),
                 Tensor::Of<int64_t>({4, 3}, {10, 11, 12, 14, -1, -1, -1, -1, -1, -1, -1, -1})));
  CHECK(served.at("weights").data<float>()[3] == 7.0F);
  CHECK(served.size() == 4);
}

namespace {

// Columns a (int32, default 7), b (float32, default 0.5), s (string, default "it's") and n, which
// is required.
InputFnOptions WriteGaps(const TemporaryFolder& folder) {
  WriteFileAtomically(folder.File("a.csv"), "a,b,s,n\n1,,x,1\n,2.5,,2\n,,,3\n", false);
  CsvSource source;
  source.file_pattern = folder.File("a.csv");
  source.column_defaults = std::vector<CsvColumnDefault>{int64_t{7}, 0.5, "it's", "int32"};
  InputFnOptions options;
  options.source = source;
  return options;
}

Tensor EmptyExample() { return Tensor::Strings({1}, {ExampleWriter().Finish()}); }

}  // namespace

TEST_CASE("a request may lack what column_defaults fill in, and nothing else") {
  const TemporaryFolder folder;
  InputFnOptions options = WriteGaps(folder);
  const auto optional = OptionalFeatures(options, "train");
  CHECK(optional.size() == 3);
  CHECK(optional.at("a").dtype == "int64");
  CHECK(optional.at("b").default_value->text == "0.5");
  CHECK(optional.at("s").default_value->text == "'it''s'");
  const Batch batch = *Open(options)->Next();
  const auto served = Serve(ParsingServingInputReceiverFn(options, "train"),
                            OpenSerialized(options, 4)->Next()->features[0]);
  CHECK(SameBits(served.at("a"), batch.features[0]));
  CHECK(SameBits(served.at("b"), batch.features[1]));
  CHECK(SameBits(served.at("s"), batch.features[3]));
  const auto lacking = [&] {
    return Serve(ParsingServingInputReceiverFn(options, "train"), EmptyExample());
  };
  CHECK(Has(ErrorOf([&] { (void)lacking(); }).message, "n"));
  options.features = {"a", "b", "s"};
  CHECK(Ints(lacking().at("a")) == std::vector<int64_t>{7});
  CHECK(lacking().at("s").strings()[0] == "it's");
}

TEST_CASE("records as requests leave out values that are defaults") {
  const TemporaryFolder folder;
  const InputFnOptions options = WriteGaps(folder);
  std::map<std::string, FeatureOptions> spec;
  for (const auto& [name, feature] : OptionalFeatures(options, "train")) spec[name] = feature;
  InputContext context;
  context.mode = Mode::kEval;
  context.batch_size = 3;
  const auto keys_of = [](std::string_view record) {
    std::string keys;
    ParseExample(record, [&](const FeatureView& feature) { keys += feature.name; });
    return keys;
  };
  const Batch encoded = *SerializedInputFn(options, "train", spec)(context)->Next();
  CHECK(keys_of(encoded.features[0].strings()[0]) == "ans");
  CHECK(keys_of(encoded.features[0].strings()[1]) == "bn");
  CHECK(keys_of(encoded.features[0].strings()[2]) == "n");
  const Batch computed = *FeaturesAsExamples(MakeInputFn(options, "train"), spec)(context)->Next();
  CHECK(keys_of(computed.features[0].strings()[0]) == "as");
  CHECK(keys_of(computed.features[0].strings()[2]).empty());
}

TEST_CASE("features of parse_example with a default_value are optional, unless a step makes them") {
  InputFnOptions options;
  FixedLenFeature pair = Fixed({2}, "float32");
  pair.default_value = Raw{"[0.5, -1]"};
  options.parse_example = {
      {"pair", pair}, {"n", Fixed({}, "int64")}, {"words", VarLenFeature{.dtype = "string"}}};
  CHECK(OptionalFeatures(options, "train").size() == 1);
  CHECK(OptionalFeatures(options, "train").at("pair").shape == std::vector<int64_t>{2});
  options.map = {CastTo("pair", "int32", "other")};
  CHECK(OptionalFeatures(options, "train").size() == 1);
  options.map = {CastTo("pair", "int32")};
  CHECK(OptionalFeatures(options, "train").empty());
}

TEST_CASE("what the model had as dense is filled up to its width where no example has a value") {
  const TemporaryFolder folder;
  const InputFnOptions options = WriteLists(folder);
  const Tensor without = OpenSerialized(options, 4)->Next()->features[0].Rows(2, 4);
  const auto served = Serve(ParsingServingInputReceiverFn(options.parse_example, "feature_columns",
                                                          {"words"}, {{"ids", 3}}),
                            without);
  CHECK(SameBits(served.at("ids"), Tensor::Of<int64_t>({2, 3}, {-1, -1, -1, -1, -1, -1})));
  CHECK(served.at("weights").shape() == Shape({2, 1}));
  CHECK(served.at("words").shape() == Shape({2, 0}));
}

TEST_CASE("a map step that computes with a list's values is refused with the list's key") {
  const TemporaryFolder folder;
  InputFnOptions options = WriteLists(folder);
  auto add = On<AddMap>("ids");
  add.value = 7;
  const auto build = [&] {
    Graph graph(Registry());
    (void)ParsingServingInputReceiverFn(options, "train")(graph);
  };
  for (const MapOptions& step : {MapOptions(add), MapOptions(CastTo("ids", "float32"))}) {
    options.map = {step};
    const Thrown thrown = ErrorOf(build);
    CHECK(thrown.code == Code::kUsage);
    CHECK(thrown.key == "input_fns.train.parse_example.ids");
    CHECK(Has(thrown.message, "\"ids\" is a VarLenFeature"));
    CHECK(Has(thrown.hint, "build_raw_serving_input_receiver_fn"));
  }
  options.features = {"words"};
  build();
}

}  // namespace tpuest::data
