#include <array>

#include "core/io/crc32c.h"
#include "data/sources/digits.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

std::string Word(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift));
  return bytes;
}

// Three images of 1 x 2 pixels.
std::string Images() {
  return Word(0x803) + Word(3) + Word(1) + Word(2) + "\x01\x02\x03\x04\x05\xff";
}
std::string Labels() { return Word(0x801) + Word(3) + std::string("\x07\x00\x09", 3); }

InputFnOptions IdxOf(const std::string& images, const std::string& labels) {
  IdxSource source;
  source.images = images;
  source.labels = labels;
  InputFnOptions options;
  options.source = source;
  options.labels = "label";
  return options;
}

Thrown OpenError(const InputFnOptions& options) {
  return ErrorOf([&] { (void)Open(options)->Next(); });
}

}  // namespace

TEST_CASE("IDX files give flat uint8 images and int32 labels, plain or gzipped") {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.File("images"), Images(), false);
  WriteFileAtomically(folder.File("labels"), Labels(), false);
  WriteGzip(folder.File("images.gz"), Images());
  WriteGzip(folder.File("labels.gz"), Labels());
  for (const std::string suffix : {"", ".gz"}) {
    const auto stream = Open(IdxOf(folder.File("images" + suffix), folder.File("labels" + suffix)));
    CHECK(stream->epoch_size() == 3);
    CHECK(stream->spec().features[0].shape == Shape({2}));
    const std::optional<Batch> batch = stream->Next();
    CHECK(batch->features[0].dtype() == DType::kUint8);
    CHECK(batch->features[0].shape() == Shape({3, 2}));
    CHECK(Ints(batch->features[0]) == std::vector<int64_t>{1, 2, 3, 4, 5, 255});
    CHECK(batch->labels.only().dtype() == DType::kInt32);
    CHECK(Ints(batch->labels.only()) == std::vector<int64_t>{7, 0, 9});
  }
}

TEST_CASE("IDX files of another kind, size or number are refused") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name, const std::string& bytes) {
    WriteFileAtomically(folder.File(name), bytes, false);
    return folder.File(name);
  };
  const std::string images = file("images", Images());
  const std::string labels = file("labels", Labels());
  const Thrown swapped = OpenError(IdxOf(labels, images));
  CHECK(swapped.code == Code::kData);
  CHECK(Has(swapped.message, "labels: expected an IDX file of uint8 with 3 dimensions"));
  CHECK(Has(swapped.message, "00000801"));
  const Thrown cut = OpenError(IdxOf(file("cut", Images().substr(0, 20)), labels));
  CHECK(Has(cut.message, "cut: expected 6 bytes after the header for [3,1,2], found 4"));
  CHECK(Has(OpenError(IdxOf(file("tiny", "ab"), labels)).message, "found 2 bytes"));
  // No images, but more pixels per image than can be counted.
  const std::string none = Word(0x803) + Word(0) + Word(UINT32_MAX) + Word(UINT32_MAX);
  CHECK(Has(OpenError(IdxOf(file("none", none), labels)).message, "dimensions are too large"));
  const Thrown fewer = OpenError(IdxOf(images, file("fewer", Word(0x801) + Word(2) + "\x01\x02")));
  CHECK(Has(fewer.message, "expected 3 labels"));
  CHECK(Has(fewer.message, "found 2"));
  const Thrown missing = OpenError(IdxOf(folder.File("nowhere"), labels));
  CHECK(missing.code == Code::kData);
  CHECK(missing.key == "input_fns.train.source.images");
  CHECK(Has(missing.message, "nowhere: no such file"));
}

TEST_CASE("a digit is a function of seed and index") {
  std::array<uint8_t, kDigitPixels> pixels;
  std::array<uint8_t, kDigitPixels> again;
  CHECK(DrawDigit(3, 11, pixels) == DrawDigit(3, 11, again));
  CHECK(pixels == again);
  (void)DrawDigit(4, 11, again);
  CHECK(pixels != again);
  // The bytes of the first hundred digits of seed 1, the same on every machine.
  std::array<int, 10> labels{};
  uint32_t crc = 0;
  for (int64_t i = 0; i < 100; ++i) {
    ++labels[static_cast<size_t>(DrawDigit(1, i, pixels))];
    crc = Crc32c({reinterpret_cast<const char*>(pixels.data()), pixels.size()}, crc);
  }
  CHECK(crc == 3484780187U);
  for (const int count : labels) CHECK(count > 0);
}

TEST_CASE("digits have ink in the middle and a dark border") {
  std::array<uint8_t, kDigitPixels> pixels;
  for (int64_t i = 0; i < 50; ++i) {
    (void)DrawDigit(1, i, pixels);
    int ink = 0;
    for (const uint8_t pixel : pixels) ink += pixel > 128 ? 1 : 0;
    CHECK(ink > 20);
    CHECK(ink < 300);
    CHECK(pixels[0] < 64);
    CHECK(pixels[kDigitPixels - 1] < 64);
  }
}

TEST_CASE("digits kept in memory are equal to newly generated ones") {
  DigitsSource source;
  source.count = 40;
  source.seed = 5;
  InputFnOptions options;
  options.source = source;
  options.features = {"image"};
  options.labels = "label";
  options.repeat = 2;
  const Batches drawn = Take(*Open(options));
  options.cache = "memory";
  CHECK(Take(*Open(options, {.threads = 3})) == drawn);
}

TEST_CASE("slices have the types that tf.constant gives, and rows of any rank") {
  const auto stream = Open(SlicesOf({{"bool", {"[true, false]"}},
                                     {"float", {"[[1, 2.5], [1/4, -3e2]]"}},
                                     {"int32", {"[1, -2]"}},
                                     {"int64", {"[1, 3000000000]"}},
                                     {"string", {"[a b, 'it''s']"}}}));
  const std::optional<Batch> batch = stream->Next();
  CHECK(batch->features[0].dtype() == DType::kBool);
  CHECK(batch->features[1].shape() == Shape({2, 2}));
  CHECK(Numbers(batch->features[1]) == std::vector<double>{1, 2.5, 0.25, -300});
  CHECK(batch->features[2].dtype() == DType::kInt32);
  CHECK(Ints(batch->features[2]) == std::vector<int64_t>{1, -2});
  CHECK(batch->features[3].dtype() == DType::kInt64);
  CHECK(batch->features[4].strings()[0] == "a b");
  CHECK(batch->features[4].strings()[1] == "it's");
}

TEST_CASE("control characters in slices are what their escapes say") {
  const auto stream =
      Open(SlicesOf({{"text", {R"(["a\x01b", "\x1b[0m\a", "\0\x7f", "\x85\u2028\U0001f600"])"}}}));
  const Tensor text = stream->Next()->features[0];
  CHECK(text.strings()[0] ==
        "a\x01"
        "b");
  CHECK(text.strings()[1] == "\x1b[0m\a");
  CHECK(text.strings()[2] == std::string_view("\0\x7f", 2));
  CHECK(text.strings()[3] == "\xc2\x85\xe2\x80\xa8\xf0\x9f\x98\x80");
  const Thrown cut = ErrorOf([] { (void)MakeInputFn(SlicesOf({{"a", {R"(["\x1"])"}}}), "train"); });
  CHECK(Has(cut.message, "\\x needs 2 hexadecimal digits"));
}

TEST_CASE("slices that are uneven, mixed or no lists are refused before any stream is made") {
  const auto refusal = [](std::map<std::string, Raw> values) {
    return ErrorOf([&] { (void)MakeInputFn(SlicesOf(std::move(values)), "train"); });
  };
  const Thrown rows = refusal({{"a", {"[1, 2]"}}, {"b", {"[1, 2, 3]"}}});
  CHECK(rows.code == Code::kUsage);
  CHECK(rows.key == "input_fns.train.source.values.b");
  CHECK(Has(rows.message, "\"b\" has 3 rows, \"a\" has 2"));
  const Thrown uneven = refusal({{"a", {"[[1, 2], [3]]"}}});
  CHECK(Has(uneven.message, "lists of 2 and 1 items"));
  CHECK(uneven.key == "input_fns.train.source.values.a");
  CHECK(Has(refusal({{"a", {"[1, [2]]"}}}).message, "different depth"));
  CHECK(Has(refusal({{"a", {"[1, b]"}}}).message, "'b' is not a number"));
  CHECK(Has(refusal({{"a", {"7"}}}).message, "expected a list of rows"));
  CHECK(Has(refusal({}).message, "values is empty"));
  CHECK(Has(refusal({{"a", {"[]"}}}).message, "no records"));
}

TEST_CASE("what a stream gives is known without a file, but for idx") {
  const auto slices = KnownSpec(SlicesOf({{"a", {"[[1, 2], [3, 4]]"}}}), "train");
  REQUIRE(slices);
  CHECK(slices->features[0].shape == Shape{2});
  InputFnOptions options;
  options.source = TFRecordSource{.filenames = {"/nowhere"}};
  const auto records = KnownSpec(options, "train");
  REQUIRE(records);
  CHECK(records->features[0].dtype == DType::kString);
  options.source = IdxSource{.images = "/nowhere"};
  CHECK(!KnownSpec(options, "train"));
}

TEST_CASE("a range stops before its end and may go down") {
  RangeSource source;
  source.start = 5;
  source.stop = -2;
  source.step = -3;
  InputFnOptions options;
  options.source = source;
  CHECK(Take(*Open(options)) == Batches{{5, 2, -1}});
  source.step = 3;
  options.source = source;
  CHECK(Has(OpenError(options).message, "no records"));
  source.step = 0;
  options.source = source;
  CHECK(OpenError(options).code == Code::kUsage);
}

TEST_CASE("skip and take cut a part out, and an empty part is an error") {
  RangeSource source;
  source.stop = 10;
  source.skip = 7;
  InputFnOptions options;
  options.source = source;
  CHECK(Take(*Open(options)) == Batches{{7, 8, 9}});
  source.skip = 2;
  source.take = 3;
  options.source = source;
  CHECK(Take(*Open(options)) == Batches{{2, 3, 4}});
  source.skip = 10;
  options.source = source;
  CHECK(Has(OpenError(options).message, "no records are left: 10 in all, skip 10, take 3"));
  source.skip = -1;
  options.source = source;
  CHECK(OpenError(options).key == "input_fns.train.source.skip");
}

TEST_CASE(
    "several files and patterns are read one after the other, rows know where they are from") {
  const TemporaryFolder folder;
  WriteValues(folder.File("b-1"), 20, 2);
  WriteValues(folder.File("b-0"), 10, 2);
  WriteValues(folder.File("a"), 0, 1);
  InputFnOptions options = ValuesOf({folder.File("b-*"), folder.File("a")});
  std::get<TFRecordSource>(options.source).num_parallel_reads = 3;
  const auto stream = Open(options, {.batch_size = 5});
  CHECK(stream->files() ==
        std::vector<std::string>{folder.File("b-0"), folder.File("b-1"), folder.File("a")});
  const std::optional<Batch> batch = stream->Next();
  CHECK(Ints(batch->features[0]) == std::vector<int64_t>{10, 11, 20, 21, 0});
  CHECK(batch->rows[3].file == 1);
  CHECK(batch->rows[3].record == 1);
  CHECK(batch->rows[4].file == 2);
}

TEST_CASE("a missing file and a pattern without a match are reported by name") {
  const Thrown missing = OpenError(ValuesOf({"/nowhere/train.tfrecords"}));
  CHECK(missing.code == Code::kData);
  CHECK(missing.key == "input_fns.train.source.filenames");
  CHECK(Has(missing.message, "/nowhere/train.tfrecords: no such file"));
  const Thrown none = OpenError(ValuesOf({"/nowhere/train-*"}));
  CHECK(none.code == Code::kData);
  CHECK(Has(none.message, "no file matches \"/nowhere/train-*\""));
  CHECK(OpenError(ValuesOf({})).code == Code::kUsage);
}

TEST_CASE("compression is what the job says, or found out by auto") {
  const TemporaryFolder folder;
  WriteValues(folder.File("plain"), 0, 3);
  WriteValues(folder.File("gz"), 0, 3, Compression::kGzip);
  WriteValues(folder.File("z"), 0, 3, Compression::kZlib);
  CHECK(Take(*Open(ValuesOf({folder.File("gz")}, "GZIP"))) == Batches{{0, 1, 2}});
  CHECK(Take(*Open(ValuesOf({folder.File("z")}, "ZLIB"))) == Batches{{0, 1, 2}});
  CHECK(Take(*Open(ValuesOf({folder.File("plain"), folder.File("gz")}, "auto"))) ==
        Batches{{0, 1, 2, 0}, {1, 2}});
  const Thrown said_none = OpenError(ValuesOf({folder.File("gz")}));
  CHECK(said_none.code == Code::kData);
  CHECK(Has(said_none.message, "the file's first bytes say \"GZIP\""));
  CHECK(said_none.hint == "compression_type: GZIP");
  CHECK(OpenError(ValuesOf({folder.File("plain")}, "ZLIB")).code == Code::kData);
}

TEST_CASE("skip and take apply to compressed files") {
  const TemporaryFolder folder;
  WriteValues(folder.File("gz"), 0, 10, Compression::kGzip);
  InputFnOptions options = ValuesOf({folder.File("gz")}, "GZIP");
  std::get<TFRecordSource>(options.source).skip = 3;
  std::get<TFRecordSource>(options.source).take = 5;
  CHECK(Take(*Open(options)) == Batches{{3, 4, 5, 6}, {7}});
  options.cache = "memory";
  CHECK(Take(*Open(options)) == Batches{{3, 4, 5, 6}, {7}});
  CHECK(Open(options)->epoch_size() == 5);
  std::get<TFRecordSource>(options.source).skip = 10;
  options.cache = false;
  CHECK(Has(OpenError(options).message, "no records"));
}

TEST_CASE("a full shuffle of compressed files needs cache: memory") {
  const TemporaryFolder folder;
  WriteValues(folder.File("gz"), 0, 10, Compression::kGzip);
  InputFnOptions options = ValuesOf({folder.File("gz")}, "GZIP");
  options.shuffle = Full();
  const Thrown thrown = OpenError(options);
  CHECK(thrown.code == Code::kUsage);
  CHECK(Has(thrown.hint, "cache: memory"));
}

TEST_CASE("damage is reported with file and record, after the batches before it") {
  const TemporaryFolder folder;
  WriteValues(folder.File("whole"), 0, 10);
  std::string bytes = ReadFile(folder.File("whole"));
  std::string flipped = bytes;
  const size_t record = bytes.size() / 10;  // all have the same length
  flipped[6 * record + record / 2] = static_cast<char>(flipped[6 * record + record / 2] ^ 1);
  WriteFileAtomically(folder.File("flipped"), flipped, false);
  for (const int threads : {1, 4}) {
    const auto stream =
        Open(ValuesOf({folder.File("flipped")}), {.batch_size = 2, .threads = threads});
    CHECK(Take(*stream, 3) == Batches{{0, 1}, {2, 3}, {4, 5}});
    const Thrown thrown = ErrorOf([&] { (void)stream->Next(); });
    CHECK(thrown.code == Code::kData);
    CHECK(Has(thrown.message, folder.File("flipped") + ": record 6 at byte"));
    CHECK(ErrorOf([&] { (void)stream->Next(); }).message == thrown.message);
  }
  WriteFileAtomically(folder.File("cut"), bytes.substr(0, bytes.size() - 3), false);
  const Thrown cut = OpenError(ValuesOf({folder.File("cut")}));
  CHECK(cut.code == Code::kData);
  CHECK(Has(cut.message, folder.File("cut") + ": record 9 at byte"));
}

TEST_CASE("a cut gzip file fails at the batch that it ends in") {
  const TemporaryFolder folder;
  WriteValues(folder.File("whole"), 0, 20000, Compression::kGzip);
  const std::string bytes = ReadFile(folder.File("whole"));
  WriteFileAtomically(folder.File("cut"), bytes.substr(0, bytes.size() / 2), false);
  const auto stream = Open(ValuesOf({folder.File("cut")}, "GZIP"), {.batch_size = 100});
  CHECK(Take(*stream, 2).size() == 2);
  const Thrown thrown = ErrorOf([&] {
    while (stream->Next()) {
    }
  });
  CHECK(thrown.code == Code::kData);
  CHECK(Has(thrown.message, folder.File("cut")));
}

}  // namespace tpuest::data
