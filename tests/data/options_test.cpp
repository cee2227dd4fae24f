// Options as a job writes them, from its reader to the batches.

#include "config/config.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

struct Job {
  std::map<std::string, InputFnOptions> input_fns;

  template <class V>
  void Visit(V& v) {
    v("input_fns", input_fns, {.help = "pipelines by name"});
  }
};

InputFnOptions Read(const std::string& text) {
  config::Sources sources;
  return config::ParseJob<Job>("input_fns:\n" + text, "job.yaml", {}, sources)
      .job.input_fns.at("train");
}

}  // namespace

TEST_CASE("the MNIST pipeline reads from YAML and gives scaled images") {
  const InputFnOptions options = Read(R"(
  train:
    source: {type: from_tensor_slices, values: {image_raw: ["ab", "cd"], label: [1, 2]}}
    map:
      - {op: decode_raw, in: image_raw, out: image, out_type: uint8, shape: [2]}
      - {op: cast, in: image, dtype: float32}
      - {op: rescaling, in: image, scale: 1/2, offset: -0.5}
      - {op: cast, in: label, dtype: int32}
    features: [image]
    labels: label
    cache: memory
    repeat: 1
    drop_remainder: true
)");
  const std::optional<Batch> batch = Open(options, {.batch_size = 2})->Next();
  CHECK(Numbers(batch->features[0]) == std::vector<double>{48, 48.5, 49, 49.5});
  CHECK(Ints(batch->labels.only()) == std::vector<int64_t>{1, 2});
}

TEST_CASE("labels are a column or a dict of columns by head") {
  const InputFnOptions options = Read(R"(
  train:
    source: {type: from_tensor_slices, values: {x: [5, 6], a: [1, 2], b: [u, v]}}
    labels: {clicks: b, buys: a}
)");
  const auto stream = Open(options, {.batch_size = 2});
  CHECK(stream->spec().features.size() == 1);
  CHECK(stream->spec().labels.names() == std::vector<std::string>{"buys", "clicks"});
  CHECK(stream->spec().labels.Find("clicks")->name == "b");
  const std::optional<Batch> batch = stream->Next();
  CHECK(Ints(*batch->labels.Find("buys")) == std::vector<int64_t>{1, 2});
  CHECK(batch->labels.Find("clicks")->strings()[1] == "v");
  CHECK(batch->labels.Find("b") == nullptr);
  CHECK(Has(ErrorOf([&] { (void)batch->labels.only(); }).message,
            "labels must be one tensor. Given: a dict of buys, clicks"));

  InputFnOptions missing = options;
  missing.labels = LabelColumns{{"clicks", "bb"}};
  const Thrown thrown = ErrorOf([&] { (void)MakeInputFn(missing, "train"); });
  CHECK(thrown.key == "input_fns.train.labels.clicks");
  CHECK(thrown.hint == "did you mean 'b'?");
}

TEST_CASE("each source, feature and stage reads from YAML") {
  const InputFnOptions records = Read(R"(
  train:
    source: {type: TFRecordDataset, filenames: [/a/b-*], compression_type: auto, buffer_size: 100,
             num_parallel_reads: 2, skip: 1, take: -1}
    parse_example:
      image/encoded: {type: FixedLenFeature, shape: [], dtype: string, default_value: ""}
      ids: {type: VarLenFeature, dtype: int64}
    id: image/encoded
    shuffle: {buffer_size: 500, seed: 3, reshuffle_each_iteration: false}
    num_parallel_calls: 2
    prefetch: auto
)");
  const auto& source = std::get<TFRecordSource>(records.source);
  CHECK(ListOf(source.filenames) == std::vector<std::string>{"/a/b-*"});
  CHECK(source.skip == 1);
  CHECK(source.take == -1);
  CHECK(std::get<FixedLenFeature>(records.parse_example.at("image/encoded")).default_value ==
        Raw{"\"\""});
  CHECK(std::holds_alternative<VarLenFeature>(records.parse_example.at("ids")));
  CHECK(std::get<int64_t>(records.shuffle->buffer_size) == 500);
  CHECK(records.shuffle->seed == 3);
  CHECK(std::get<int64_t>(records.num_parallel_calls) == 2);

  CHECK(std::get<IdxSource>(Read("  train: {source: {type: idx, images: /i}}").source).images ==
        "/i");
  CHECK(std::get<DigitsSource>(Read("  train: {source: digits}").source).count == 60000);
  CHECK(std::get<RangeSource>(Read("  train: {source: {type: range, stop: 4}}").source).stop == 4);
  const InputFnOptions numpy =
      Read("  train: {source: {type: numpy, values: {x: [[1, 2], [3, 4]]}}, shuffle: null}");
  CHECK(Take(*Open(numpy)) == Batches{{1, 2, 3, 4}});
}

TEST_CASE("ops that are not there, and keys of other ops, are faults of the job") {
  const auto refusal = [](const std::string& op) {
    return ErrorOf(
        [&] { (void)Read("  train: {source: {type: range, stop: 3}, map: [" + op + "]}"); });
  };
  CHECK(refusal("{op: cats, in: value, dtype: int32}").code == Code::kUsage);
  CHECK(Has(refusal("{op: cast, in: value, dtyp: int32}").message, "dtyp"));
  CHECK(refusal("{op: cast, in: value}").code == Code::kUsage);
}

}  // namespace tpuest::data
