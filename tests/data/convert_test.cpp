#include "data/examples/convert.h"

#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

DigitsSource Digits(int64_t count) {
  DigitsSource source;
  source.count = count;
  source.seed = 3;
  return source;
}

// Reads the converted files as jobs do.
InputFnOptions ImagesOf(const std::vector<std::string>& files, const std::string& compression) {
  InputFnOptions options = ValuesOf(files, compression);
  options.parse_example.clear();
  options.parse_example["image_raw"] = Fixed({}, "string");
  options.parse_example["label"] = Fixed({}, "int64");
  DecodeRawMap decode;
  decode.in = "image_raw";
  decode.out = "image";
  decode.out_type = "uint8";
  decode.shape = {784};
  CastMap cast;
  cast.in = "label";
  cast.dtype = "int32";
  options.map = {decode, cast};
  options.features = {"image"};
  options.labels = "label";
  return options;
}

void CheckSameImages(const InputFnOptions& a, const InputFnOptions& b) {
  const auto first = Open(a, {.batch_size = 16});
  const auto second = Open(b, {.batch_size = 16});
  for (;;) {
    const std::optional<Batch> x = first->Next();
    const std::optional<Batch> y = second->Next();
    REQUIRE(x.has_value() == y.has_value());
    if (!x) return;
    CHECK(SameBits(x->features[0], y->features[0]));
    CHECK(SameBits(x->labels.only(), y->labels.only()));
  }
}

}  // namespace

TEST_CASE("converted digits read back as they were, in one file or shards, compressed or not") {
  InputFnOptions drawn;
  drawn.source = Digits(50);
  drawn.features = {"image"};
  drawn.labels = "label";
  for (const std::string compression : {"", "GZIP", "ZLIB"}) {
    for (const int64_t shards : {1, 3}) {
      const TemporaryFolder folder;
      ConvertOptions options;
      options.source = Digits(50);
      options.output = folder.File("deep/train.tfrecords");
      options.num_shards = shards;
      options.compression_type = compression;
      const ConvertReport report = ConvertToTFRecord(options);
      CHECK(report.records == 50);
      REQUIRE(report.files.size() == static_cast<size_t>(shards));
      if (shards == 3) {
        CHECK(report.files[1] == folder.File("deep/train.tfrecords-00001-of-00003"));
      }
      CheckSameImages(ImagesOf(report.files, compression), drawn);
    }
  }
}

TEST_CASE("converting again gives the same bytes") {
  const TemporaryFolder folder;
  ConvertOptions options;
  options.source = Digits(5);
  options.output = folder.File("a");
  ConvertToTFRecord(options);
  options.output = folder.File("b");
  ConvertToTFRecord(options);
  CHECK(ReadFile(folder.File("a")) == ReadFile(folder.File("b")));
}

TEST_CASE("only a part is converted where skip and take say so") {
  const TemporaryFolder folder;
  DigitsSource source = Digits(50);
  source.skip = 45;
  ConvertOptions options;
  options.source = source;
  options.output = folder.File("part");
  CHECK(ConvertToTFRecord(options).records == 5);
}

TEST_CASE("CSV is converted a feature a column, and says how to read it back") {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.File("a.csv"), "n,x,no\n1,0.5,a\n-2,,\"b\"\"\"\n", false);
  CsvSource source;
  source.file_pattern = folder.File("a.csv");
  ConvertOptions options;
  options.source = source;
  options.output = folder.File("a.tfrecord");
  const ConvertReport report = ConvertToTFRecord(options);
  CHECK(report.records == 2);
  CHECK(report.input_fn ==
        "parse_example:\n"
        "  n: {type: FixedLenFeature, shape: [], dtype: int64}\n"
        "  x: {type: FixedLenFeature, shape: [], dtype: float32}\n"
        "  \"no\": {type: FixedLenFeature, shape: [], dtype: string}\n"
        "map:\n"
        "  - {op: cast, in: n, dtype: int32}\n");
  InputFnOptions read = ValuesOf({folder.File("a.tfrecord")});
  read.parse_example.clear();
  read.parse_example["n"] = Fixed({}, "int64");
  read.parse_example["x"] = Fixed({}, "float32");
  read.parse_example["no"] = Fixed({}, "string");
  const std::optional<Batch> batch = Open(read)->Next();
  CHECK(Ints(batch->features[0]) == std::vector<int64_t>{1, -2});
  CHECK(batch->features[1].strings()[1] == "b\"");
  CHECK(Numbers(batch->features[2]) == std::vector<double>{0.5, 0});
}

TEST_CASE("what has no images and labels is not converted, and no file is left") {
  const TemporaryFolder folder;
  RangeSource source;
  source.stop = 3;
  ConvertOptions options;
  options.source = source;
  options.output = folder.File("none");
  CHECK(ErrorOf([&] { ConvertToTFRecord(options); }).code == Code::kUsage);
  options.source = Digits(3);
  options.compression_type = "BZIP2";
  CHECK(Has(ErrorOf([&] { ConvertToTFRecord(options); }).message, "'BZIP2'"));
  CHECK(!FileExists(folder.File("none")));
}

}  // namespace tpuest::data
