// Stages that make one row from several records, or rows of equal length: window, padded_batch,
// bucket_by_sequence_length and cache. The expected values are those of tf.data of TensorFlow 2.15.

#include <algorithm>

#include "tests/data/fixture.h"
#include "tests/data/map_ops.h"

namespace tpuest::data {
namespace {

using RowList = std::vector<std::vector<double>>;

InputFnOptions Sequence(int64_t records, std::vector<StageOptions> stages) {
  InputFnOptions options = RangeOf(records);
  options.stages = std::move(stages);
  return options;
}

RowList ListRowsOf(const Tensor& tensor) {
  const std::vector<double> numbers = Numbers(tensor);
  const auto rows = static_cast<size_t>(tensor.shape().dim(0));
  const size_t width = rows == 0 ? 0 : numbers.size() / rows;
  RowList all;
  for (size_t row = 0; row < rows; ++row) {
    all.emplace_back(numbers.begin() + static_cast<ptrdiff_t>(row * width),
                     numbers.begin() + static_cast<ptrdiff_t>((row + 1) * width));
  }
  return all;
}

// The rows of the first feature over all batches of at most three rows.
RowList EveryRow(const InputFnOptions& options, int64_t batch_size = 3) {
  const auto stream = Open(options, {.batch_size = batch_size});
  RowList all;
  while (const std::optional<Batch> batch = stream->Next()) {
    for (std::vector<double>& row : ListRowsOf(batch->features[0])) all.push_back(std::move(row));
  }
  return all;
}

StageOptions WindowsOf(int64_t size, std::optional<int64_t> shift = std::nullopt,
                       int64_t stride = 1, bool drops = true) {
  return {.window = WindowOptions{size, shift, stride, drops}};
}

// tf.Examples with lists of these lengths, whose elements are the length.
InputFnOptions ListsOf(const std::string& path, const std::vector<int64_t>& lengths,
                       std::vector<StageOptions> stages) {
  RecordWriter writer(path, Compression::kNone, false);
  for (const int64_t length : lengths) {
    ExampleWriter example;
    const std::vector<int64_t> values(static_cast<size_t>(length), length);
    example.Ints("list", values);
    const std::vector<std::string_view> words(static_cast<size_t>(length), "w");
    example.Bytes("words", words);
    writer.Write(example.Finish());
  }
  writer.Close();
  InputFnOptions options = ValuesOf({path});
  options.parse_example = {{"list", VarLenFeature{"int64"}}, {"words", VarLenFeature{"string"}}};
  options.features = {"list"};
  options.stages = std::move(stages);
  return options;
}

const std::vector<int64_t> kLengths = {1, 5, 2, 7, 3, 3, 9, 1, 4, 6, 2, 8};

StageOptions Buckets36(bool drops = false) {
  BucketOptions buckets;
  buckets.element_length_func = {.text = "list"};
  buckets.bucket_boundaries = {3, 6};
  buckets.bucket_batch_sizes = {2, 3, 2};
  buckets.drop_remainder = drops;
  return {.bucket_by_sequence_length = buckets};
}

// The batches of a list's column, each row as its values.
std::vector<RowList> BatchesOf(const InputFnOptions& options, int64_t batch_size = 3) {
  const auto stream = Open(options, {.batch_size = batch_size});
  std::vector<RowList> all;
  while (const std::optional<Batch> batch = stream->Next()) {
    all.push_back(ListRowsOf(batch->features[0]));
  }
  return all;
}

std::vector<double> FilledRow(double value, size_t count, size_t length, double filler = 0) {
  std::vector<double> row(length, filler);
  std::fill_n(row.begin(), count, value);
  return row;
}

Thrown RefusedList(std::vector<StageOptions> stages) {
  return ErrorOf([&] { (void)MakeInputFn(Sequence(9, std::move(stages)), "train"); });
}

void CheckGoesOn(const InputFnOptions& options, int64_t batch_size = 3) {
  const Ask ask{.batch_size = batch_size};
  const auto whole = Open(options, ask);
  std::vector<Batch> batches;
  while (batches.size() < 20) {
    std::optional<Batch> batch = whole->Next();
    if (!batch) break;
    batches.push_back(std::move(*batch));
  }
  REQUIRE(batches.size() > 3);
  for (size_t i = 0; i + 1 < batches.size(); ++i) {
    const auto stream = Open(options, ask);
    stream->Seek(batches[i].after);
    CHECK(Numbers(stream->Next()->features[0]) == Numbers(batches[i + 1].features[0]));
  }
}

}  // namespace

TEST_CASE("windows are stacked as Dataset.window's are batched") {
  CHECK(EveryRow(Sequence(8, {WindowsOf(3)})) == RowList{{0, 1, 2}, {3, 4, 5}});
  CHECK(EveryRow(Sequence(8, {WindowsOf(3, 4)})) == RowList{{0, 1, 2}, {4, 5, 6}});
  CHECK(EveryRow(Sequence(8, {WindowsOf(3, 1, 2)})) ==
        RowList{{0, 2, 4}, {1, 3, 5}, {2, 4, 6}, {3, 5, 7}});
  // Across the end of a pass, and pass by pass.
  CHECK(EveryRow(Sequence(3, {{.repeat = 2}, WindowsOf(2)})) == RowList{{0, 1}, {2, 0}, {1, 2}});
  CHECK(EveryRow(Sequence(3, {WindowsOf(2), {.repeat = 2}})) == RowList{{0, 1}, {0, 1}});
  const auto stream = Open(Sequence(9, {WindowsOf(4, 1), {.skip = 1}, {.take = 4}}));
  CHECK(stream->epoch_size() == 4);
  CHECK(stream->spec().features[0].shape == Shape({4}));
  const Batch batch = *stream->Next();
  CHECK(batch.examples == 4);
  CHECK(batch.rows.size() == 4);
  CHECK(batch.rows[0].record == 1);
}

TEST_CASE("short windows are filled up by a padded_batch") {
  const StageOptions batch = {.padded_batch = PaddedBatchOptions{}};
  CHECK(EveryRow(Sequence(8, {WindowsOf(3, std::nullopt, 1, false), batch})) ==
        RowList{{0, 1, 2}, {3, 4, 5}, {6, 7, 0}});
  CHECK(EveryRow(Sequence(8, {WindowsOf(3, 2, 2, false), batch})) ==
        RowList{{0, 2, 4}, {2, 4, 6}, {4, 6, 0}, {6, 0, 0}});
  PaddedBatchOptions with;
  with.padding_values = {{"value", Raw{"-7"}}};
  CHECK(EveryRow(Sequence(8, {WindowsOf(2, 5, 3, false), {.padded_batch = with}})) ==
        RowList{{0, 3}, {5, -7}});
  const Thrown refused = RefusedList({WindowsOf(3, std::nullopt, 1, false)});
  CHECK(refused.key == "input_fns.train.stages[0].window.drop_remainder");
  CHECK(Has(refused.hint, "padded_batch at the end pads them"));
}

TEST_CASE("map steps before a window see single records, and steps after it see whole windows") {
  StageOptions before;
  before.map.push_back(AddMap{{"value"}, 10});
  ExprMap sum;
  sum.out = "sum";
  sum.value = {.text = "reduce_sum(value) + value[-1]"};
  StageOptions behind;
  behind.map.push_back(sum);
  InputFnOptions options = Sequence(4, {before, WindowsOf(2, 1), behind});
  options.features = {"sum"};
  CHECK(EveryRow(options) == RowList{{32}, {35}, {38}});
  options.features = {"value"};
  options.labels = "sum";
  const Batch batch = *Open(options)->Next();
  CHECK(ListRowsOf(batch.features[0]) == RowList{{10, 11}, {11, 12}, {12, 13}});
  CHECK(Numbers(batch.labels.only()) == std::vector<double>{32, 35, 38});
}

TEST_CASE("windows, shuffled and filtered before and behind, are gone on with from anywhere") {
  CheckGoesOn(Sequence(40, {{.filter = {.text = "value % 7 != 3"}},
                            {.shuffle = 5},
                            WindowsOf(3, 2, 2),
                            {.cache = "memory"},
                            {.repeat = 3},
                            {.shuffle = 4},
                            {.take = 30}}));
}

TEST_CASE("a padded batch has its longest list's length, or the stated one") {
  const TemporaryFolder folder;
  const auto padded = [&](const PaddedBatchOptions& batch) {
    return ListsOf(folder.File("lists"), {1, 5, 2, 7, 3}, {{.padded_batch = batch}});
  };
  const std::vector<RowList> longest = BatchesOf(padded({}), 4);
  CHECK(longest == std::vector<RowList>{{FilledRow(1, 1, 7), FilledRow(5, 5, 7), FilledRow(2, 2, 7),
                                         FilledRow(7, 7, 7)},
                                        {FilledRow(3, 3, 3)}});
  PaddedBatchOptions stated;
  stated.padded_shapes = {{"list", {8}}};
  stated.padding_values = {{"list", Raw{"-7"}}};
  CHECK(BatchesOf(padded(stated), 4)[1] == RowList{FilledRow(3, 3, 8, -7)});
  const auto stream = Open(padded(stated), {.batch_size = 4});
  CHECK(stream->spec().lists.empty());
  CHECK(stream->spec().features[0].shape == Shape({8}));
  stated.padded_shapes = {{"list", {5}}};
  const Thrown longer = ErrorOf([&] { (void)BatchesOf(padded(stated), 4); });
  CHECK(longer.code == Code::kData);
  CHECK(Has(longer.message, "a list of 7 values is longer than the 5 that lists are padded to"));
  InputFnOptions words = padded({});
  words.features = {"words"};
  words.stages[0].padded_batch->padding_values = {{"words", Raw{"none"}}};
  const Batch batch = *Open(words, {.batch_size = 2})->Next();
  CHECK(batch.features[0].shape() == Shape({2, 5}));
  CHECK(batch.features[0].strings()[0] == "w");
  CHECK(batch.features[0].strings()[1] == "none");
  CHECK(batch.features[0].strings()[9] == "w");
}

TEST_CASE("buckets give batches of examples that are about as long") {
  const TemporaryFolder folder;
  const std::string path = folder.File("lists");
  const std::vector<RowList> expected = {
      {FilledRow(1, 1, 2), FilledRow(2, 2, 2)},
      {FilledRow(5, 5, 5), FilledRow(3, 3, 5), FilledRow(3, 3, 5)},
      {FilledRow(7, 7, 9), FilledRow(9, 9, 9)},
      {FilledRow(1, 1, 2), FilledRow(2, 2, 2)},
      {FilledRow(6, 6, 8), FilledRow(8, 8, 8)},
      {FilledRow(4, 4, 4)}};
  CHECK(BatchesOf(ListsOf(path, kLengths, {Buckets36()})) == expected);
  CHECK(BatchesOf(ListsOf(path, kLengths, {Buckets36(true)})).size() == 5);
  StageOptions to_end = Buckets36();
  to_end.bucket_by_sequence_length->bucket_boundaries = {3, 6, 10};
  to_end.bucket_by_sequence_length->bucket_batch_sizes = {2, 3, 2, 2};
  to_end.bucket_by_sequence_length->pad_to_bucket_boundary = true;
  const std::vector<RowList> ends = BatchesOf(ListsOf(path, kLengths, {to_end}));
  CHECK(ends[4] == RowList{FilledRow(6, 6, 9), FilledRow(8, 8, 9)});
  CHECK(ends[5] == RowList{FilledRow(4, 4, 5)});
  StageOptions over = Buckets36();
  over.bucket_by_sequence_length->pad_to_bucket_boundary = true;
  const Thrown longer = ErrorOf([&] { (void)BatchesOf(ListsOf(path, kLengths, {over})); });
  CHECK(Has(longer.message, "an example's length is 7, and the last bucket boundary 6"));
  // Lists that stay lists distinguish their values from padding.
  StageOptions lists = Buckets36();
  lists.bucket_by_sequence_length->no_padding = true;
  const auto stream = Open(ListsOf(path, kLengths, {lists}));
  CHECK(stream->spec().lists == std::vector<std::string>{"list"});
  CHECK(stream->epoch_size() == 12);
  CheckGoesOn(ListsOf(path, kLengths, {{.shuffle = 5}, {.repeat = 3}, Buckets36()}));
  // A formula gives the length of a feature that is not a list.
  StageOptions parity;
  parity.bucket_by_sequence_length = Buckets36().bucket_by_sequence_length;
  parity.bucket_by_sequence_length->element_length_func = {.text = "value % 2"};
  parity.bucket_by_sequence_length->bucket_boundaries = {1};
  parity.bucket_by_sequence_length->bucket_batch_sizes = {2, 2};
  CHECK(BatchesOf(Sequence(5, {parity})) == std::vector<RowList>{{{0}, {2}}, {{1}, {3}}, {{4}}});
}

TEST_CASE("a cache repeats the first pass, in its order") {
  const RowList first = EveryRow(Sequence(6, {{.shuffle = 6}}));
  RowList twice = first;
  twice.insert(twice.end(), first.begin(), first.end());
  CHECK(EveryRow(Sequence(6, {{.shuffle = 6}, {.cache = "memory"}, {.repeat = 2}})) == twice);
  // A pass that ended early is not kept.
  CHECK(EveryRow(Sequence(6, {{.cache = "memory"}, {.take = 2}, {.repeat = 2}})) ==
        RowList{{0}, {1}, {0}, {1}});
  CheckGoesOn(Sequence(10, {{.shuffle = 6}, {.cache = "memory"}, {.repeat = 3}}));
}

TEST_CASE("a cache's file keeps what a source gives, and is made again for another one") {
  const TemporaryFolder folder;
  const std::string file = folder.File("kept");
  WriteValues(folder.File("a"), 5, 4, Compression::kGzip);
  InputFnOptions options = ValuesOf({folder.File("a")}, "GZIP");
  options.stages = {{.cache = file}, {.repeat = 2}};
  const RowList expected = {{5}, {6}, {7}, {8}, {5}, {6}, {7}, {8}};
  CHECK(EveryRow(options) == expected);
  const std::string kept = ReadFile(file);
  CHECK(EveryRow(options) == expected);
  CHECK(ReadFile(file) == kept);
  options.stages = {};
  options.cache = file;
  options.shuffle = Full();  // compressed records in any order
  CHECK(EveryRow(options).size() == 4);
  CHECK(ReadFile(file) == kept);
  std::get<TFRecordSource>(options.source).skip = 1;
  CHECK(EveryRow(options).size() == 3);
  CHECK(ReadFile(file) != kept);
  // A damaged file is not used.
  WriteFileAtomically(file, kept.substr(0, kept.size() - 8), false);
  CHECK(EveryRow(options).size() == 3);
  InputFnOptions texts =
      SlicesOf({{"text", {"[a, bcd, '']"}}, {"x", {"[[1, 2], [3, 4], [5, 6]]"}}});
  texts.cache = folder.File("texts");
  for (int run = 0; run < 2; ++run) {
    const Batch batch = *Open(texts)->Next();
    CHECK(batch.features[0].strings()[1] == "bcd");
    CHECK(batch.features[0].strings()[2].empty());
    CHECK(ListRowsOf(batch.features[1]) == RowList{{1, 2}, {3, 4}, {5, 6}});
  }
}

TEST_CASE("invalid stages of several records are refused at their place") {
  CHECK(RefusedList({WindowsOf(0)}).key == "input_fns.train.stages[0].window.size");
  const Thrown behind = RefusedList({WindowsOf(2), {.filter = {.text = "value > 2"}}});
  CHECK(behind.key == "input_fns.train.stages[1]");
  CHECK(Has(behind.message, "filter follows a window"));
  CHECK(RefusedList({WindowsOf(2), WindowsOf(2)}).key == "input_fns.train.stages[1]");
  CHECK(Has(RefusedList({Buckets36(), {.repeat = 2}}).message, "must be the last stage"));
  StageOptions sizes = Buckets36();
  sizes.bucket_by_sequence_length->bucket_batch_sizes = {2};
  CHECK(Has(RefusedList({sizes}).message, "1 batch sizes for 3 buckets"));
  StageOptions falling = Buckets36();
  falling.bucket_by_sequence_length->bucket_boundaries = {6, 3};
  CHECK(Has(RefusedList({falling}).message, "expected increasing whole numbers"));
  PaddedBatchOptions named;
  named.padded_shapes = {{"list", {3}}};
  const Thrown name = RefusedList({{.padded_batch = named}});
  CHECK(Has(name.message, "no column of lists is named 'list'"));
  StageOptions length = Buckets36();
  length.bucket_by_sequence_length->element_length_func = {.text = "value > 2"};
  CHECK(Has(RefusedList({length}).message, "a length is one whole number an example"));
}

}  // namespace tpuest::data
