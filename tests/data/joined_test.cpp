// Several datasets as one, and records that a program writes. The expected values of interleave,
// concatenate, zip and weights of 0 and 1 are those of tf.data of TensorFlow 2.15.

#include <algorithm>

#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

using Numbers64 = std::vector<int64_t>;

std::string PutNumbers(const TemporaryFolder& folder, const std::string& name, int64_t first,
                       int64_t count, const std::string& key = "value") {
  std::string lines;
  for (int64_t i = 0; i < count; ++i) lines += fmt::format("{{\"{}\": {}}}\n", key, first + i);
  WriteFileAtomically(folder.File(name), lines, false);
  return folder.File(name);
}

JsonLinesSource NumbersIn(std::vector<std::string> files) {
  JsonLinesSource source;
  source.filenames = std::move(files);
  return source;
}

RangeSource Between(int64_t start, int64_t stop) {
  RangeSource range;
  range.start = start;
  range.stop = stop;
  return range;
}

Numbers64 ValuesOfAll(const InputFnOptions& options, int64_t most = 1000) {
  const auto stream = Open(options, {.batch_size = 1});
  Numbers64 values;
  for (int64_t i = 0; i < most; ++i) {
    const std::optional<Batch> batch = stream->Next();
    if (!batch) break;
    values.push_back(Ints(batch->features[0]).front());
  }
  return values;
}

InputFnOptions StagedOf(SourceOptions source, std::vector<StageOptions> stages) {
  InputFnOptions options;
  options.source = std::move(source);
  options.stages = std::move(stages);
  return options;
}

StageOptions SampleFrom(std::vector<DatasetOptions> datasets, std::vector<double> weights,
                        bool stops = false) {
  SampleFromOptions sample;
  sample.datasets = std::move(datasets);
  sample.weights = std::move(weights);
  sample.stop_on_empty_dataset = stops;
  return {.sample_from_datasets = std::move(sample)};
}

InputFnOptions GeneratorOf(const std::string& script, const std::string& format = "text") {
  GeneratorSource source;
  source.command = {"sh", "-c", script};
  source.format = format;
  if (format == "jsonl") source.features = {{"value", Fixed({}, "int64")}};
  InputFnOptions options;
  options.source = std::move(source);
  return options;
}

std::string FaultOfAll(const InputFnOptions& options) {
  return ErrorOf([&] {
           const auto stream = Open(options, {.batch_size = 4});
           while (stream->Next()) {
           }
         })
      .message;
}

// Every batch from every position equals that of the uninterrupted run.
void CheckEveryPosition(const InputFnOptions& options) {
  const Ask context{.batch_size = 3};
  const auto whole = Open(options, context);
  std::vector<StreamPosition> positions;
  Batches batches;
  for (std::optional<Batch> batch = whole->Next(); batch && batches.size() < 30;
       batch = whole->Next()) {
    positions.push_back(batch->after);
    batches.push_back(Ints(batch->features[0]));
  }
  REQUIRE(batches.size() > 3);
  for (size_t i = 0; i + 1 < batches.size(); ++i) {
    const auto stream = Open(options, context);
    stream->Seek(positions[i]);
    CHECK(Ints(stream->Next()->features[0]) == batches[i + 1]);
  }
}

}  // namespace

TEST_CASE("interleave takes the source's files in turns, as TensorFlow does") {
  const TemporaryFolder folder;
  const JsonLinesSource source =
      NumbersIn({PutNumbers(folder, "a", 0, 5), PutNumbers(folder, "b", 10, 1),
                 PutNumbers(folder, "none", 0, 0), PutNumbers(folder, "c", 20, 4)});
  const auto interleaved = [&](int64_t cycle, int64_t block) {
    const InterleaveOptions interleave{.cycle_length = cycle, .block_length = block};
    return ValuesOfAll(StagedOf(source, {{.interleave = interleave}}));
  };
  CHECK(interleaved(2, 1) == Numbers64{0, 10, 1, 2, 3, 20, 4, 21, 22, 23});
  CHECK(interleaved(2, 2) == Numbers64{0, 1, 10, 2, 3, 4, 20, 21, 22, 23});
  CHECK(interleaved(3, 1) == Numbers64{0, 10, 1, 20, 2, 21, 3, 22, 4, 23});
  CHECK(interleaved(1, 1) == Numbers64{0, 1, 2, 3, 4, 10, 20, 21, 22, 23});
  CHECK(interleaved(5, 2) == Numbers64{0, 1, 10, 20, 21, 2, 3, 22, 23, 4});
}

TEST_CASE("concatenated datasets have stages of their own, and each row knows its file") {
  const TemporaryFolder folder;
  const std::string a = PutNumbers(folder, "a", 0, 3);
  const std::string b = PutNumbers(folder, "b", 10, 4);
  const DatasetOptions other{NumbersIn({b}), {{.skip = 1}, {.take = 2}, {.repeat = 2}}};
  const InputFnOptions options =
      StagedOf(NumbersIn({a}), {{.take = 2}, {.concatenate = {other}}, {.repeat = 2}});
  CHECK(ValuesOfAll(options) == Numbers64{0, 1, 11, 12, 11, 12, 0, 1, 11, 12, 11, 12});
  const auto stream = Open(options, {.batch_size = 3});
  CHECK(stream->epoch_size() == 12);
  CHECK(stream->files() == std::vector<std::string>{a, b});
  const Batch batch = *stream->Next();
  CHECK(batch.rows[2].file == 1);
  CHECK(batch.rows[2].record == 1);
  CheckEveryPosition(options);
}

TEST_CASE("datasets are drawn by weight until the last has ended, or the first") {
  const DatasetOptions ten{Between(10, 13), {}};
  CHECK(ValuesOfAll(StagedOf(Between(0, 5), {SampleFrom({ten}, {0, 1})})) == Numbers64{10, 11, 12});
  CHECK(ValuesOfAll(StagedOf(Between(0, 5), {SampleFrom({ten}, {1, 0})})) ==
        Numbers64{0, 1, 2, 3, 4});
  Numbers64 all = ValuesOfAll(StagedOf(Between(0, 5), {SampleFrom({ten}, {})}));
  // Each dataset keeps its order.
  Numbers64 tens;
  std::copy_if(all.begin(), all.end(), std::back_inserter(tens), [](int64_t x) { return x >= 10; });
  CHECK(tens == Numbers64{10, 11, 12});
  std::sort(all.begin(), all.end());
  CHECK(all == Numbers64{0, 1, 2, 3, 4, 10, 11, 12});
  const DatasetOptions endless{Between(100, 101), {{.repeat = -1}}};
  const InputFnOptions mixed =
      StagedOf(Between(0, 1), {{.repeat = -1}, SampleFrom({endless}, {3, 1})});
  CHECK(Open(mixed)->endless());
  const Numbers64 many = ValuesOfAll(mixed, 1000);
  const auto rare = std::count(many.begin(), many.end(), 100);
  CHECK(rare > 200);
  CHECK(rare < 300);
  const InputFnOptions stops = StagedOf(Between(0, 2000), {SampleFrom({ten}, {1, 1}, true)});
  CHECK(!Open(stops)->endless());
  const Numbers64 short_one = ValuesOfAll(stops);
  CHECK(std::count(short_one.begin(), short_one.end(), 12) == 1);
  CHECK(short_one.size() < 100);
  CheckEveryPosition(mixed);
}

TEST_CASE("a run through all stages that join is gone on with from anywhere") {
  const TemporaryFolder folder;
  const JsonLinesSource files =
      NumbersIn({PutNumbers(folder, "a", 0, 7), PutNumbers(folder, "b", 20, 5)});
  const DatasetOptions more{Between(40, 50), {{.shuffle = 4}, {.shard = ShardOptions{2, 1}}}};
  const DatasetOptions rare{Between(60, 64), {{.repeat = -1}, {.shuffle = 3}}};
  CheckEveryPosition(StagedOf(files, {{.interleave = InterleaveOptions{2, 2}},
                                      {.filter = {.text = "value % 5 != 3"}},
                                      {.concatenate = {more}},
                                      {.repeat = 3},
                                      SampleFrom({rare}, {3, 1}),
                                      {.shuffle = 8},
                                      {.take = 80}}));
}

TEST_CASE("zip puts the columns of datasets side by side, as long as the shortest") {
  const TemporaryFolder folder;
  ZipSource zip;
  zip.datasets = {Between(0, 5), NumbersIn({PutNumbers(folder, "b", 10, 4, "other")})};
  zip.skip = 1;
  InputFnOptions options;
  options.source = zip;
  options.labels = "other";
  const Batch batch = *Open(options, {.batch_size = 9})->Next();
  CHECK(Ints(batch.features[0]) == Numbers64{1, 2, 3});
  CHECK(Ints(batch.labels.only()) == Numbers64{11, 12, 13});
  zip.datasets = {Between(0, 5), Between(0, 6)};
  options.source = zip;
  const Thrown twice = ErrorOf([&] { (void)Open(options); });
  CHECK(twice.code == Code::kUsage);
  CHECK(twice.key == "input_fns.train.source.datasets[1]");
  CHECK(Has(twice.message, "also has a column \"value\""));
}

TEST_CASE("invalid stages are refused at their place") {
  const auto fault = [](std::vector<StageOptions> stages) {
    return ErrorOf([&] { (void)Open(StagedOf(Between(0, 5), std::move(stages))); });
  };
  const DatasetOptions ten{Between(0, 10), {}};
  const Thrown weights = fault({SampleFrom({ten}, {1, 1, 1})});
  CHECK(weights.code == Code::kUsage);
  CHECK(weights.key == "input_fns.train.stages[0].sample_from_datasets.weights");
  CHECK(Has(weights.message, "3 weights for 2 datasets"));
  CHECK(Has(fault({SampleFrom({ten}, {0, 0})}).message, "all weights are 0"));
  CHECK(Has(fault({SampleFrom({ten}, {-1, 1})}).message, "a weight is -1"));
  CHECK(Has(fault({{.take = 2}, {.interleave = InterleaveOptions{2, 1}}}).message, "first stage"));
  CHECK(fault({{.interleave = InterleaveOptions{2, 0}}}).key ==
        "input_fns.train.stages[0].interleave.block_length");
  const Thrown nested = fault({{.concatenate = {{Between(0, 3), {{.take = 1, .skip = 1}}}}}});
  CHECK(nested.key == "input_fns.train.stages[0].concatenate[0].stages[0]");
  const MapOptions cast = CastMap{{.in = "value"}, "float32"};
  const Thrown mapped = fault({{.map = {cast}}, {.take = 2}, {.concatenate = {ten}}});
  CHECK(mapped.key == "input_fns.train.stages[0].map");
  CHECK(Has(mapped.message, "map precedes concatenate, whose datasets would bypass it"));
  CHECK(Open(StagedOf(Between(0, 5), {{.concatenate = {ten}}, {.map = {cast}}})) != nullptr);
  SlicesSource slices;
  slices.values = {{"value", {"[0.5]"}}};
  const Thrown columns = fault({{.concatenate = {{slices, {}}}}});
  CHECK(columns.key == "input_fns.train.stages[0].concatenate[0].source");
  CHECK(Has(columns.message, "\"value\" float32 [] is \"value\" int64 [] in the first dataset"));
}

TEST_CASE("a program's rows are read as it writes them, and the program runs again in each pass") {
  InputFnOptions options =
      GeneratorOf("for i in 0 1 2 3 4; do echo \"{\\\"value\\\": $i}\"; done", "jsonl");
  options.repeat = 2;
  CHECK(ValuesOfAll(options) == Numbers64{0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
  CheckEveryPosition([&] {
    InputFnOptions many = options;
    many.shuffle = ShuffleOptions{.buffer_size = int64_t{3}};
    many.repeat = 4;
    many.filter = {.text = "value != 2"};
    return many;
  }());
  std::get<GeneratorSource>(options.source).skip = 1;
  std::get<GeneratorSource>(options.source).take = 2;
  CHECK(ValuesOfAll(options) == Numbers64{1, 2, 1, 2});
  const auto stream = Open(GeneratorOf("printf 'a\\r\\nb\\n\\nlast'"), {.batch_size = 9});
  const Batch texts = *stream->Next();
  REQUIRE(texts.features[0].elements() == 4);
  CHECK(texts.features[0].strings()[0] == "a");
  CHECK(texts.features[0].strings()[2].empty());
  CHECK(texts.features[0].strings()[3] == "last");
  const TemporaryFolder folder;
  WriteValues(folder.File("records"), 5, 4);
  InputFnOptions records = GeneratorOf("cat " + folder.File("records"), "tfrecord");
  records.parse_example = {{"value", Fixed({}, "int64")}};
  CHECK(ValuesOfAll(records) == Numbers64{5, 6, 7, 8});
}

TEST_CASE("a program that fails, stalls or writes invalid rows is reported by its name") {
  CHECK(FaultOfAll(GeneratorOf("echo a; exit 3")) ==
        "sh -c echo a; exit 3: exited with code 3 after 1 records");
  CHECK(FaultOfAll(GeneratorOf("kill -9 $$")) ==
        "sh -c kill -9 $$: ended by signal 9 after 0 records");
  InputFnOptions stalls = GeneratorOf("echo a; exec sleep 1000");
  std::get<GeneratorSource>(stalls.source).timeout_secs = 1;
  CHECK(FaultOfAll(stalls) == "sh -c echo a; exec sleep 1000: has written nothing for 1 s");
  CHECK(Has(FaultOfAll(GeneratorOf("echo '{\"value\": 1}'; echo '{\"value\": x}'", "jsonl")),
            "record 1, byte 10: expected a value, found 'x'"));
  CHECK(Has(FaultOfAll(GeneratorOf("echo 0123456789abcdef", "tfrecord")), "record 0 is damaged"));
  CHECK(Has(FaultOfAll(GeneratorOf("printf 0123", "tfrecord")), "record 0 is cut short"));
  CHECK(Has(FaultOfAll(GeneratorOf("true")), "no records"));
  const TemporaryFolder folder;
  InputFnOptions others =
      GeneratorOf(fmt::format("echo a; cat {0} 2>/dev/null; echo b >{0}", folder.File("been")));
  others.repeat = 2;
  CHECK(
      Has(FaultOfAll(others), "has written other records than in the pass before: 2, and 1 then"));
  InputFnOptions none = GeneratorOf("true", "jsonl");
  std::get<GeneratorSource>(none.source).features.clear();
  const Thrown thrown = ErrorOf([&] { (void)Open(none); });
  CHECK(thrown.code == Code::kUsage);
  CHECK(thrown.key == "input_fns.train.source.features");
  // The source has fewer records than the position.
  const auto stream = Open(GeneratorOf("echo a; echo b"), {.batch_size = 1});
  stream->Seek({0, 5});
  const Thrown fewer = ErrorOf([&] { (void)stream->Next(); });
  CHECK(fewer.code == Code::kData);
  CHECK(Has(fewer.message, "record 5 of an epoch, which has 2"));
}

}  // namespace tpuest::data
