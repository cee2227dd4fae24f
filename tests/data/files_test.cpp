// Sources of lines, JSON lines, records of fixed length and NumPy's arrays. The expected values of
// lines and of records of fixed length are those of tf.data of TensorFlow 2.15.

#include "core/io/zip/zip.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

using Strings = std::vector<std::string>;

Thrown FilesError(const InputFnOptions& options) {
  return ErrorOf([&] {
    const auto stream = Open(options, {.batch_size = 100});
    while (stream->Next()) {
    }
  });
}

// All rows in one batch.
Strings TextsOf(const Tensor& tensor) {
  Strings texts;
  for (const std::string_view text : tensor.strings()) texts.emplace_back(text);
  return texts;
}

template <class Source>
InputFnOptions FilesOf(Source source, const std::vector<std::string>& filenames,
                       const std::string& compression = "") {
  source.filenames = filenames;
  source.compression_type = compression;
  InputFnOptions options;
  options.source = std::move(source);
  return options;
}

InputFnOptions JsonOf(const std::string& path,
                      std::map<std::string, FeatureOptions> features = {}) {
  JsonLinesSource source;
  source.features = std::move(features);
  return FilesOf(source, {path});
}

// A header of version 1 followed by the elements, as numpy.save writes them.
std::string Npy(const std::string& descr, const std::string& shape, const std::string& elements,
                bool fortran = false) {
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr,
                                   fortran ? "True" : "False", shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  const auto size = static_cast<uint16_t>(header.size());
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(size & 255);
  bytes += static_cast<char>(size >> 8);
  return bytes + header + elements;
}

template <class T>
std::string BytesOf(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

InputFnOptions ArraysOf(std::map<std::string, std::string> arrays) {
  InputFnOptions options;
  options.source = NpySource{.arrays = std::move(arrays)};
  return options;
}

}  // namespace

TEST_CASE("lines are what TextLineDataset gives of them, plain or compressed") {
  const TemporaryFolder folder;
  const std::string first = "a\rb\r\nc\n\n\r\nlast\r";
  Put(folder, "a", first);
  Put(folder, "b", "");
  Put(folder, "c", "x\n\n");
  WriteGzip(folder.File("a.gz"), first);
  const Strings expected = {"ab", "c", "", "", "last", "x", ""};
  const auto all = [&](const std::string& name, const std::string& compression) {
    return FilesOf(TextLineSource(), {folder.File(name), folder.File("b"), folder.File("c")},
                   compression);
  };
  const Batch batch = AllRows(all("a", ""));
  CHECK(TextsOf(batch.features[0]) == expected);
  CHECK(batch.rows[5].file == 2);
  CHECK(batch.rows[4].record == 4);
  CHECK(TextsOf(AllRows(all("a.gz", "auto")).features[0]) == expected);
  const auto one = [&](const std::string& compression) {
    return FilesError(FilesOf(TextLineSource(), {folder.File("a.gz")}, compression));
  };
  CHECK(Has(one("").message, "compressed with gzip"));
  CHECK(one("").hint == "compression_type: GZIP");
  CHECK(one("ZLIB").code == Code::kData);
  CHECK(KnownSpec(all("a", ""), "train")->features[0].name == "text");
}

TEST_CASE("records of fixed length lie between a header and a footer") {
  const TemporaryFolder folder;
  std::string bytes;
  for (char c = 0; c < 13; ++c) bytes += c;
  Put(folder, "f", bytes);
  FixedLengthSource source{.record_bytes = 4, .header_bytes = 2, .footer_bytes = 3};
  CHECK(TextsOf(AllRows(FilesOf(source, {folder.File("f")})).features[0]) ==
        Strings{"\x02\x03\x04\x05", "\x06\x07\x08\x09"});
  source.footer_bytes = 0;
  const Thrown rest = FilesError(FilesOf(source, {folder.File("f")}));
  CHECK(rest.code == Code::kData);
  CHECK(
      Has(rest.message, "the 11 bytes between a header of 2 and a footer of 0 are 2 and 3 bytes"));
  source.header_bytes = 14;
  CHECK(Has(FilesError(FilesOf(source, {folder.File("f")})).message, "found 13 bytes in all"));
  source.record_bytes = 0;
  const Thrown none = FilesError(FilesOf(source, {folder.File("f")}));
  CHECK(none.code == Code::kUsage);
  CHECK(none.key == "input_fns.train.source.record_bytes");
}

TEST_CASE("JSON lines have the types of their first rows, and gaps are 0 and empty") {
  const TemporaryFolder folder;
  const std::string path = Put(folder, "t.jsonl",
                               "{\"n\": 1, \"x\": 1, \"s\": \"a\", \"v\": [1, 2], \"l\": [1]}\n"
                               "\n"
                               "{\"x\": 2.5e0, \"s\": \"\\u00e9\\n\\ud83d\\ude00\", \"v\": [3, 4], "
                               "\"l\": [], \"n\": true}\r\n"
                               "{\"n\": null, \"l\": [5, 6, 7]}");
  const auto stream = Open(JsonOf(path), {.batch_size = 3});
  const Batch batch = *stream->Next();
  REQUIRE(batch.features.size() == 5);  // l, n, s, v, x
  CHECK(batch.features[0].shape() == Shape({3, 4}));
  CHECK(Ints(batch.features[0]) ==
        std::vector<int64_t>{1, -1, -1, -1, -1, -1, -1, -1, 5, 6, 7, -1});
  CHECK(stream->spec().lists == Strings{"l"});
  CHECK(Ints(batch.features[1]) == std::vector<int64_t>{1, 1, 0});
  CHECK(TextsOf(batch.features[2]) == Strings{"a", "\xc3\xa9\n\xf0\x9f\x98\x80", ""});
  CHECK(batch.features[3].shape() == Shape({3, 2}));
  CHECK(Ints(batch.features[3]) == std::vector<int64_t>{1, 2, 3, 4, 0, 0});
  CHECK(batch.features[4].dtype() == DType::kFloat);
  CHECK(Numbers(batch.features[4]) == std::vector<double>{1, 2.5, 0});
}

TEST_CASE("JSON lines with stated features read only these") {
  const TemporaryFolder folder;
  const std::string path = Put(folder, "t.jsonl",
                               "{\"m\": [[1, 2], [3, 4]], \"other\": {\"deep\": [null]}}\n"
                               "{\"w\": \"one\"}\n");
  FixedLenFeature matrix = Fixed({2, 2}, "float32");
  matrix.default_value = Raw{"-1"};
  const InputFnOptions options =
      JsonOf(path, {{"m", matrix}, {"w", VarLenFeature{.dtype = "string"}}});
  CHECK(KnownSpec(options, "train")->features[0].shape == Shape({2, 2}));
  const Batch batch = AllRows(options);
  CHECK(Numbers(batch.features[0]) == std::vector<double>{1, 2, 3, 4, -1, -1, -1, -1});
  CHECK(TextsOf(batch.features[1]) == Strings{"", "one"});
}

TEST_CASE("JSON that is damaged, or of another type, is refused at its line and column") {
  const TemporaryFolder folder;
  const auto fault = [&](const std::string& text,
                         std::map<std::string, FeatureOptions> features = {}) {
    const InputFnOptions options = JsonOf(Put(folder, "bad.jsonl", text), std::move(features));
    try {
      (void)Open(options, {.batch_size = 100})->Next();
    } catch (const Error& error) {
      const Place& place = error.faults().front().place;
      return fmt::format("{} {}:{} {}", static_cast<int>(error.code()), place.line, place.column,
                         error.message());
    }
    return std::string("nothing");
  };
  const std::string data = std::to_string(static_cast<int>(Code::kData));
  CHECK(fault("{\"a\": 1}\n{\"a\": \"\xc3\xa9\", }\n") ==
        data + " 2:7 expected int64 as before, found string");
  CHECK(fault("{\"a\": 1}\n\n{\"a\": 1,, }\n") == data + " 3:9 expected '\"', found ','");
  CHECK(fault("{\"a\": [1, [2]]}") == data + " 1:8 \"a\": expected a list of 1, found a number");
  CHECK(fault("{\"a\": {}}") == data + " 1:7 an object within an object");
  CHECK(fault("{\"a\": 1, \"a\": 2}") == data + " 1:15 \"a\" is given twice");
  CHECK(fault("[1]") == data + " 1:1 expected '{', found '['");
  CHECK(fault("{\"a\": \"x") == data + " 1:9 a string is never closed");
  CHECK(fault("{\"a\": \"\\ud800\"}") == data + " 1:14 unpaired surrogate");
  CHECK(fault("{\"a\": 1} 2") == data + " 1:10 expected the end of the line, found '2'");
  CHECK(fault("{\"b\": 1}", {{"a", Fixed({}, "int64")}}) == data + " 1:1 \"a\" must have a value");
  CHECK(fault("{\"a\": 1.5}", {{"a", Fixed({}, "int64")}}) ==
        data + " 1:7 \"a\": expected a whole number (int64), found 1.5");
  CHECK(fault("{\"a\": 1e99}", {{"a", Fixed({}, "float32")}}) ==
        data + " 1:7 \"a\": expected a number (float32), found 1e99");
  CHECK(fault("{\"a\": [1, 2, 3]}", {{"a", Fixed({2}, "int64")}}) ==
        data + " 1:7 \"a\": expected a list of 2, found more");
  CHECK(fault("{\"b\": " + std::string(100, '[') + "}", {{"a", Fixed({}, "int64")}}) ==
        data + " 1:72 lists and objects of more than 64 levels");
}

TEST_CASE("an array of NumPy's is a column, whatever its type, order and alignment") {
  const TemporaryFolder folder;
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  Put(folder, "x.npy", Npy("<f4", "(3, 2)", BytesOf(numbers)));
  Put(folder, "y.npy", Npy(">i2", "(3,)", std::string("\x01\x02\xff\xff\x00\x07", 6)));
  // The columns of x, one after the other.
  Put(folder, "f.npy", Npy("<f4", "(3, 2)", BytesOf(numbers), true));
  Put(folder, "u.npy",
      Npy("<U2", "(3,)", BytesOf(std::vector<uint32_t>{'a', 0, 0xe9, 0x1f600, 0, 0})));
  Put(folder, "s.npy", Npy("|S3", "(3,)", std::string("ab\0c\0\0def", 9)));
  Put(folder, "b.npy", Npy("|b1", "(3,)", std::string("\x01\x00\x01", 3)));
  WriteGzip(folder.File("z.npy.gz"), Npy("<i8", "(3,)", BytesOf(std::vector<int64_t>{7, 8, 9})));
  const Batch batch = AllRows(ArraysOf({{"b", folder.File("b.npy")},
                                        {"f", folder.File("f.npy")},
                                        {"s", folder.File("s.npy")},
                                        {"u", folder.File("u.npy")},
                                        {"x", folder.File("x.npy")},
                                        {"y", folder.File("y.npy")},
                                        {"z", folder.File("z.npy.gz")}}));
  CHECK(batch.features[0].dtype() == DType::kBool);
  CHECK(Numbers(batch.features[1]) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(TextsOf(batch.features[2]) == Strings{"ab", "c", "def"});
  CHECK(TextsOf(batch.features[3]) == Strings{"a", "\xc3\xa9\xf0\x9f\x98\x80", ""});
  CHECK(Numbers(batch.features[4]) == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(batch.features[5].dtype() == DType::kInt16);
  CHECK(batch.features[5].data<int16_t>()[0] == 258);
  CHECK(batch.features[5].data<int16_t>()[1] == -1);
  CHECK(Ints(batch.features[6]) == std::vector<int64_t>{7, 8, 9});
}

TEST_CASE("arrays that are damaged, of other types, or of other rows are refused") {
  const TemporaryFolder folder;
  const auto message = [&](const std::string& bytes) {
    return FilesError(ArraysOf({{"x", Put(folder, "bad.npy", bytes)}})).message;
  };
  CHECK(Has(message("PK"), "expected a .npy file"));
  CHECK(Has(message(Npy("<f4", "(3, 2)", "1234")), "expected 24 bytes after the header for [3,2]"));
  CHECK(Has(message(Npy("|O", "(1,)", "12345678")), "elements of type '|O'"));
  CHECK(Has(message(Npy("<f2", "(1,)", "12")), "elements of type '<f2'"));
  CHECK(Has(message(Npy("<U0", "(9,)", "")), "elements of type '<U0'"));
  CHECK(Has(message(Npy("|b1", "(2,)", "\x01\x02")), "element 1 is the byte 2"));
  CHECK(Has(message(Npy("<f4", "()", "1234")), "expected rows, found a single value"));
  CHECK(Has(message(Npy("<f4", "(4294967295, 4294967295, 4294967295)", "")), "too large"));
  CHECK(Has(message(Npy("<f4", "(2,", "")), "'shape' is not a tuple"));
  CHECK(Has(message(std::string("\x93NUMPY\x09\x00\x00\x00", 10)), "version 1 to 3, found 9"));
  const std::string two = Put(folder, "two.npy", Npy("|u1", "(2,)", "ab"));
  const std::string three = Put(folder, "three.npy", Npy("|u1", "(3,)", "abc"));
  const Thrown rows = FilesError(ArraysOf({{"a", two}, {"b", three}}));
  CHECK(rows.message == "\"b\" has 3 rows, \"a\" has 2; expected equal numbers");
  CHECK(rows.key == "input_fns.train.source.arrays.b");
}

TEST_CASE("an archive of arrays yields the named arrays, or all") {
  const TemporaryFolder folder;
  const std::string x = Npy("<i4", "(2,)", BytesOf(std::vector<int32_t>{1, 2}));
  const std::string y = Npy("<f8", "(2, 1)", BytesOf(std::vector<double>{0.5, 1.5}));
  const std::string z = Npy("|u1", "(3,)", "abc");
  NpzSource source;
  source.file = Put(folder, "a.npz", ZipArchive({{"x.npy", x}, {"y.npy", y}}));
  InputFnOptions options;
  options.source = source;
  const Batch all = AllRows(options);
  CHECK(Ints(all.features[0]) == std::vector<int64_t>{1, 2});
  CHECK(all.features[1].data<double>()[1] == 1.5);
  source.file = Put(folder, "b.npz", ZipArchive({{"x.npy", x}, {"y.npy", y}, {"z.npy", z}}));
  options.source = source;
  CHECK(Has(FilesError(options).message, "\"z\" has 3 rows, \"x\" has 2"));
  source.arrays = {{"only", "z"}};
  options.source = source;
  CHECK(Ints(AllRows(options).features[0]) == std::vector<int64_t>{'a', 'b', 'c'});
  source.arrays = {{"only", "w"}};
  options.source = source;
  const Thrown missing = FilesError(options);
  CHECK(missing.code == Code::kData);
  CHECK(Has(missing.message, "no array is named 'w'; found x.npy, y.npy, z.npy"));
}

TEST_CASE("files that are mapped are shuffled and gone on with like any other") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += fmt::format("{{\"value\": {}}}\n", i);
  InputFnOptions options = JsonOf(Put(folder, "v.jsonl", lines));
  options.shuffle = Full();
  options.repeat = 3;
  const Batches whole = Take(*Open(options, {.batch_size = 7}));
  const auto stream = Open(options, {.batch_size = 7, .threads = 3});
  stream->Seek({1, 6});  // after eight batches of seven
  CHECK(Take(*stream) == Batches(whole.begin() + 8, whole.end()));
}

}  // namespace tpuest::data
