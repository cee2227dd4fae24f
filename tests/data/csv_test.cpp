#include <cmath>
#include <cstring>
#include <limits>

#include "core/base/random.h"
#include "data/csv/source.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

void Write(const std::string& path, const std::string& text) {
  WriteFileAtomically(path, text, false);
}

InputFnOptions CsvOf(const std::string& pattern) {
  CsvSource source;
  source.file_pattern = pattern;
  InputFnOptions options;
  options.source = source;
  return options;
}
CsvSource& SourceOf(InputFnOptions& options) { return std::get<CsvSource>(options.source); }

// The first batch of a file with this text.
Batch BatchOf(const std::string& text, const CsvSource& given = {}) {
  const TemporaryFolder folder;
  Write(folder.File("a.csv"), text);
  InputFnOptions options;
  options.source = given;
  SourceOf(options).file_pattern = folder.File("a.csv");
  std::optional<Batch> batch = Open(options, {.batch_size = 100})->Next();
  REQUIRE(batch.has_value());
  return *std::move(batch);
}

std::vector<std::string> Texts(const Tensor& tensor) {
  const auto strings = tensor.strings();
  return {strings.begin(), strings.end()};
}

struct Placed {
  std::string message;
  std::string hint;
  std::string at;  // file:line:column
  Code code = Code::kInternal;
};
Placed FaultOf(const std::string& text, const CsvSource& given = {}) {
  try {
    (void)BatchOf(text, given);
  } catch (const Error& error) {
    const Fault& fault = error.faults().front();
    return {
        fault.message, fault.hint,
        fmt::format("{}:{}:{}", BaseName(fault.place.file), fault.place.line, fault.place.column),
        error.code()};
  }
  return {};
}

DType TypeOf(const std::vector<std::string>& texts) {
  DType dtype = DType::kInvalid;
  for (const std::string& text : texts) dtype = InferCsvType(text, "NA", dtype);
  return dtype;
}

}  // namespace

TEST_CASE("a header names the columns; types are the least that the values fit") {
  const Batch batch = BatchOf("b,a,c,d\n1,0.5,x,3000000000\n-2,1e3,\"y, z\",4\n");
  REQUIRE(batch.features.size() == 4);  // sorted by name
  CHECK(batch.features[0].dtype() == DType::kFloat);
  CHECK(Numbers(batch.features[0]) == std::vector<double>{0.5, 1000});
  CHECK(batch.features[1].dtype() == DType::kInt32);
  CHECK(Ints(batch.features[1]) == std::vector<int64_t>{1, -2});
  CHECK(Texts(batch.features[2]) == std::vector<std::string>{"x", "y, z"});
  CHECK(batch.features[3].dtype() == DType::kInt64);
  CHECK(batch.features[3].shape() == Shape({2}));
}

TEST_CASE("types are inferred as make_csv_dataset infers them") {
  CHECK(TypeOf({"1", "2147483647"}) == DType::kInt32);
  CHECK(TypeOf({"1", "2147483648"}) == DType::kInt64);
  CHECK(TypeOf({"9223372036854775807"}) == DType::kInt64);
  CHECK(TypeOf({"9223372036854775808"}) == DType::kFloat);
  CHECK(TypeOf({"1", "2.5", "3"}) == DType::kFloat);
  CHECK(TypeOf({"1e39"}) == DType::kDouble);
  CHECK(TypeOf({"1e39", "1"}) == DType::kDouble);
  CHECK(TypeOf({"1e400"}) == DType::kString);
  CHECK(TypeOf({"nan"}) == DType::kString);
  CHECK(TypeOf({"inf"}) == DType::kString);
  CHECK(TypeOf({"-inf"}) == DType::kFloat);
  CHECK(TypeOf({"1", "x", "2"}) == DType::kString);
  CHECK(TypeOf({"", "NA"}) == DType::kInvalid);
  CHECK(TypeOf({"", "7", "NA"}) == DType::kInt32);
  CHECK(TypeOf({" 7 ", "8"}) == DType::kInt32);
}

TEST_CASE("numbers are parsed like decode_csv of TensorFlow 2.15") {
  const auto takes = [](const std::string& text, DType dtype) {
    uint64_t bits = 0;
    return ParseCsvNumber(text, dtype, bits);
  };
  const auto real = [](const std::string& text) {
    uint64_t bits = 0;
    CAPTURE(text);
    CHECK(ParseCsvNumber(text, DType::kFloat, bits));
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    uint64_t wide_bits = 0;
    CHECK(ParseCsvNumber(text, DType::kDouble, wide_bits));
    double wide = 0;
    std::memcpy(&wide, &wide_bits, sizeof wide);
    CHECK((value == static_cast<float>(wide) || std::isnan(value) == std::isnan(wide)));
    return wide;
  };
  CHECK(real("+1") == 1);
  CHECK(real("+1.5e3") == 1500);
  CHECK(real(" +1 ") == 1);
  CHECK(real("\v1\f") == 1);
  CHECK(real("+.5") == 0.5);
  CHECK(real("1.") == 1);
  CHECK(real("1.e5") == 1e5);
  CHECK(real("-007") == -7);
  CHECK(real("0x10") == 16);
  CHECK(real("-0X1F") == -31);
  CHECK(std::signbit(real("-0")));
  CHECK(real("+INF") == std::numeric_limits<double>::infinity());
  CHECK(real("-inf") == -std::numeric_limits<double>::infinity());
  CHECK(std::isnan(real("-NaN")));
  for (const char* const text :
       {"++1",   "+-1", "-+1",   "--1",  "+",     "-",        "+ 1",       "- 1",
        "1_000", "0x",  "0x1p3", "0x-1", "-0x-1", "infinity", "-Infinity", "nan(1)",
        "nan()", "in",  "infx",  ".",    "+.",    "1e",       "1e+",       ".e5",
        "1d5",   "1f",  "1 2",   "True", "$1",    "1%",       ""}) {
    CAPTURE(text);
    CHECK_FALSE(takes(text, DType::kFloat));
    CHECK_FALSE(takes(text, DType::kDouble));
    CHECK_FALSE(takes(text, DType::kInt64));
  }
  for (const char* const text : {"+1", "+007", "1e5", "1.", "0x10", "inf", "nan", "0.0"}) {
    CAPTURE(text);
    CHECK_FALSE(takes(text, DType::kInt32));
    CHECK_FALSE(takes(text, DType::kInt64));
  }
  for (const char* const text :
       {"-0", "007", "2147483647", "-2147483648", "\t1 ", "00000000000000000000000001"}) {
    CAPTURE(text);
    CHECK(takes(text, DType::kInt32));
  }
  CHECK_FALSE(takes("2147483648", DType::kInt32));
  CHECK(takes("-9223372036854775808", DType::kInt64));
  CHECK_FALSE(takes("9223372036854775808", DType::kInt64));
  // decode_csv reads numbers that are too large as infinity, and blanks as 0.
  CHECK_FALSE(takes("1e39", DType::kFloat));
  CHECK_FALSE(takes("1e309", DType::kDouble));
  CHECK_FALSE(takes(" ", DType::kFloat));
}

TEST_CASE("a whole number with a plus is refused in an integer column, and makes a real one") {
  CsvSource source;
  source.column_defaults = {"int32"};
  const Placed fault = FaultOf("a\n1\n+8\n", source);
  CHECK(fault.message == "column \"a\": expected a whole number (int32), found \"+8\"");
  CHECK(fault.at == "a.csv:3:1");
  CHECK(Has(fault.hint, "column_defaults: float32"));
  CHECK(TypeOf({"7", "+8"}) == DType::kFloat);
}

TEST_CASE("only the first rows determine types, and a column without values becomes a string") {
  CsvSource source;
  source.num_rows_for_inference = 1;
  CHECK(FaultOf("a\n1\n2.5\n", source).message ==
        "column \"a\": expected a whole number (int32), found \"2.5\"");
  CHECK(FaultOf("a\n1\n2.5\n", source).at == "a.csv:3:1");
  CHECK(Has(FaultOf("a\n1\n2.5\n", source).hint, "from the first 1 rows; set column_defaults"));
  source.num_rows_for_inference = std::nullopt;
  CHECK(Numbers(BatchOf("a\n1\n2.5\n", source).features[0]) == std::vector<double>{1, 2.5});
  CHECK(Texts(BatchOf("a,b\n,1\n,2\n").features[0]) == std::vector<std::string>{"", ""});
}

TEST_CASE("column_defaults give types, values for empty fields, and what must be there") {
  CsvSource source;
  CsvDefault wide;
  wide.dtype = "int64";
  wide.default_value = int64_t{-1};
  source.column_defaults = {int64_t{7}, 0.5, "none", "string", wide};
  source.na_value = "NA";
  const Batch batch = BatchOf("a,b,c,d,e\n,NA,,x,NA\n1,2,z,y,5000000000\n", source);
  CHECK(batch.features[0].dtype() == DType::kInt32);
  CHECK(Ints(batch.features[0]) == std::vector<int64_t>{7, 1});
  CHECK(batch.features[1].dtype() == DType::kFloat);
  CHECK(Numbers(batch.features[1]) == std::vector<double>{0.5, 2});
  CHECK(Texts(batch.features[2]) == std::vector<std::string>{"none", "z"});
  CHECK(batch.features[4].dtype() == DType::kInt64);
  CHECK(Ints(batch.features[4]) == std::vector<int64_t>{-1, 5000000000});
  const Placed missing = FaultOf("a,b,c,d,e\n1,2,z,,5\n", source);
  CHECK(missing.message == "column \"d\" must have a value");
  CHECK(missing.at == "a.csv:2:7");
  CHECK(missing.code == Code::kData);
}

TEST_CASE("columns are selected by name and number, and kept in the file's order") {
  CsvSource source;
  source.select_columns = {"c", int64_t{0}};
  // One default per selected column, in the order of the file.
  source.column_defaults = {"int32", "float32"};
  const Batch batch = BatchOf("a,b,c\n1,not a number,2\n", source);
  REQUIRE(batch.features.size() == 2);
  CHECK(Ints(batch.features[0]) == std::vector<int64_t>{1});
  CHECK(batch.features[1].dtype() == DType::kFloat);
}

TEST_CASE("label_name is the column of the labels where the input_fn names none") {
  const TemporaryFolder folder;
  Write(folder.File("a.csv"), "x,y,z\n1,2,3\n");
  InputFnOptions options = CsvOf(folder.File("a.csv"));
  SourceOf(options).label_name = "y";
  std::optional<Batch> batch = Open(options)->Next();
  CHECK(batch->features.size() == 2);
  CHECK(Ints(batch->labels.only()) == std::vector<int64_t>{2});
  options.labels = "z";
  batch = Open(options)->Next();
  CHECK(Ints(batch->labels.only()) == std::vector<int64_t>{3});
}

TEST_CASE("without a header column_names names the columns; with one they replace its names") {
  CsvSource source;
  source.column_names = {"p", "q"};
  CHECK(Ints(BatchOf("a,b\n1,2\n", source).features[1]) == std::vector<int64_t>{2});
  source.header = false;
  CHECK(Ints(BatchOf("3,4\n1,2\n", source).features[1]) == std::vector<int64_t>{4, 2});
}

TEST_CASE("a byte order mark, CRLF, another delimiter and no quoting are understood") {
  CHECK(Ints(BatchOf("\xef\xbb\xbf"
                     "a,b\r\n1,2\r\n3,4")
                 .features[0]) == std::vector<int64_t>{1, 3});
  CsvSource source;
  source.field_delim = ";";
  source.use_quote_delim = false;
  CHECK(Texts(BatchOf("a;b\n\"x,\";1\n", source).features[0]) ==
        std::vector<std::string>{"\"x,\""});
}

TEST_CASE("faults name file, line and column, and count the lines within quotes") {
  CsvSource source;
  source.column_defaults = {"string", "int32"};
  Placed fault = FaultOf("name,age\n\"two\nlines\",3\n\"\xc3\xa4,\",x\n", source);
  CHECK(fault.message == "column \"age\": expected a whole number (int32), found \"x\"");
  CHECK(fault.at == "a.csv:4:6");
  CHECK(fault.code == Code::kData);
  CHECK(fault.hint.empty());
  fault = FaultOf("a,b\r\n1,2\r\n1,2,3\r\n");
  CHECK(fault.message == "expected 2 fields, found 3");
  CHECK(fault.at == "a.csv:3:1");
  fault = FaultOf("a,b\n1,2\n\n");
  CHECK(fault.message == "expected 2 fields, found 1: the line is empty");
  fault = FaultOf("a,b\n1,\"2\n3,4\n");
  CHECK(fault.message == "the quote that opens here is never closed");
  CHECK(fault.at == "a.csv:2:3");
  source.column_defaults = {"float32"};
  CHECK(Has(FaultOf("a\n1e39\n", source).message, "expected a number (float32), found \"1e39\""));
  CHECK(Numbers(BatchOf("a\n1e-60\n", source).features[0]) == std::vector<double>{0});
  CHECK(FaultOf("").message.find("the file is empty") != std::string::npos);
}

TEST_CASE("missing or repeated names are refused, with the nearest name") {
  InputFnOptions labelled = CsvOf("");
  SourceOf(labelled).label_name = "survivd";
  Placed fault = FaultOf("survived,age\n1,2\n", SourceOf(labelled));
  CHECK(Has(fault.message, "a.csv: no column is named 'survivd'; there are survived, age"));
  CHECK(fault.hint == "did you mean 'survived'?");
  CHECK(fault.code == Code::kData);
  fault = FaultOf("a,b,a\n1,2,3\n");
  CHECK(fault.message == "two columns are named 'a' in the header");
  CHECK(fault.code == Code::kData);
  CsvSource named;
  named.column_names = {"a", "a"};
  CHECK(FaultOf("1,2\n", named).code == Code::kUsage);
  CsvSource selected;
  selected.select_columns = {int64_t{2}};
  CHECK(FaultOf("a,b\n1,2\n", selected).message ==
        "column 2 is selected; there are 2, numbered from 0");
  selected.select_columns = {"b", int64_t{1}};
  CHECK(FaultOf("a,b\n1,2\n", selected).message == "column 'b' is selected twice");
}

TEST_CASE("options that contradict themselves are refused") {
  CsvSource nameless;
  nameless.header = false;
  CHECK(FaultOf("1\n", nameless).hint == "column_names: [...]");
  CsvSource delimited;
  delimited.field_delim = "ab";
  CHECK(FaultOf("1\n", delimited).code == Code::kUsage);
  CsvSource defaulted;
  defaulted.column_defaults = {"int32"};
  CHECK(Has(FaultOf("a,b\n1,2\n", defaulted).message, "1 entries for 2 columns"));
  CsvDefault word;
  word.dtype = "int32";
  word.default_value = "x";
  defaulted.column_defaults = {word, "int32"};
  CHECK(FaultOf("a,b\n1,2\n", defaulted).message == "expected a whole number (int32), found 'x'");
}

TEST_CASE("bad records are left out where the job says so, told, and bounded") {
  const TemporaryFolder folder;
  Write(folder.File("a-0.csv"), "x,y\nbad\n0,0\n1,0\n\"2\n,0\",1,1\n");
  Write(folder.File("a-1.csv"), "x,y\n2,0\n3,z\n4,0\n");
  InputFnOptions options = CsvOf(folder.File("a-*.csv"));
  SourceOf(options).column_defaults = {"int32", "int32"};
  CHECK(ErrorOf([&] { (void)Open(options)->Next(); }).code == Code::kData);
  options.data_errors.options.policy = "skip";
  options.data_errors.options.max_fraction = 0.5;
  std::vector<std::string> told;
  options.data_errors.report = [&](const std::vector<BadRecord>& bad, int64_t records) {
    CHECK(records == 7);
    for (const BadRecord& record : bad) {
      told.push_back(fmt::format("{}:{} {}", BaseName(record.file), record.line, record.why));
    }
  };
  const auto stream = Open(options, {.batch_size = 2});
  CHECK(stream->epoch_size() == 4);
  const std::optional<Batch> first = stream->Next();
  CHECK(first->rows[0].record == 1);  // counted in the file, including bad records
  CHECK(Take(*stream) == Batches{{2, 4}});
  CHECK(told == std::vector<std::string>{
                    "a-0.csv:2 expected 2 fields, found 1", "a-0.csv:5 expected 2 fields, found 3",
                    "a-1.csv:3 column \"y\": expected a whole number (int32), found \"z\""});
  stream->Seek(first->after);
  CHECK(Take(*stream) == Batches{{2, 4}});
  options.data_errors.options.max_fraction = 0.4;
  const Thrown thrown = ErrorOf([&] { (void)Open(options); });
  CHECK(Has(thrown.message, "3 or more of 7 records are bad; the first is "));
  CHECK(Has(thrown.message, "a-0.csv:2: expected 2 fields, found 1"));
  CHECK(thrown.key == "tpuest.data_errors.max_fraction");
  CHECK(thrown.code == Code::kData);
}

TEST_CASE("several files are one row of records, and their headers must agree") {
  const TemporaryFolder folder;
  Write(folder.File("a-0.csv"), "x,y\n0,0\n1,0\n");
  Write(folder.File("a-1.csv"), "x,y\r\n2,0\r\n");
  InputFnOptions options = CsvOf(folder.File("a-*.csv"));
  CHECK(Flat(Take(*Open(options))) == std::vector<int64_t>{0, 1, 2});
  SourceOf(options).file_pattern =
      std::vector<std::string>{folder.File("a-1.csv"), folder.File("a-0.csv")};
  CHECK(Flat(Take(*Open(options))) == std::vector<int64_t>{2, 0, 1});
  Write(folder.File("a-1.csv"), "y,x\n2,0\n");
  const Thrown thrown = ErrorOf([&] { (void)Open(options); });
  CHECK(Has(thrown.message, "the header has the columns x, y, but "));
  CHECK(thrown.code == Code::kData);
}

TEST_CASE("compressed files read as plain ones, where compression_type says so") {
  const TemporaryFolder folder;
  WriteGzip(folder.File("a.csv.gz"), "x\n1\n2\n");
  InputFnOptions options = CsvOf(folder.File("a.csv.gz"));
  const Thrown thrown = ErrorOf([&] { (void)Open(options); });
  CHECK(Has(thrown.message, "is compressed with gzip"));
  CHECK(thrown.hint == "compression_type: GZIP");
  SourceOf(options).compression_type = "GZIP";
  options.shuffle = Full();
  std::vector<int64_t> values = Flat(Take(*Open(options)));
  std::sort(values.begin(), values.end());
  CHECK(values == std::vector<int64_t>{1, 2});
}

TEST_CASE("a file that is not kept in memory gives the same records in any order") {
  const TemporaryFolder folder;
  std::string text = "number,name\n";
  for (int i = 0; i < 3000; ++i) text += fmt::format("{},\"row\n{}\"\n", i, i);
  Write(folder.File("a.csv"), text);
  const CsvFile file(folder.File("a.csv"), {.kept_bytes = 0});
  REQUIRE(file.records() == 3000);
  CHECK(file.header() == "number,name");
  CsvFile::Window window;
  for (int64_t i = 0; i < 3000; ++i) {
    const int64_t record = i < 1000 ? i : (i * 1234567) % 3000;
    REQUIRE(file.Record(record, window) == fmt::format("{},\"row\n{}\"", record, record));
  }
  CHECK(file.PlaceOf(2, 2).line == 6);
  CHECK(file.PlaceOf(2, 2).column == 3);
}

TEST_CASE("what is read ahead ends with the records that are gone on to") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 100; ++i) text += fmt::format("{:09}\n", i);
  Write(folder.File("a.csv"), text);
  const CsvFile file(folder.File("a.csv"), {.header = false, .kept_bytes = 0});
  CsvFile::Window window;
  const auto read = [&](int64_t record, int64_t after) {
    CHECK(file.Record(record, window, after) == fmt::format("{:09}", record));
    return std::pair(window.begin, window.bytes.size());
  };
  using Bytes = std::pair<uint64_t, size_t>;
  CHECK(read(20, 3) == Bytes(200, 10));  // the file may have a single record
  CHECK(read(21, 2) == Bytes(210, 30));
  CHECK(read(23, 0) == Bytes(210, 30));
  CHECK(read(60, 500) == Bytes(600, 10));
  CHECK(read(61, 500) == Bytes(610, 390));  // the file's end
  CHECK(read(30, -1) == Bytes(300, 10));
  CHECK(read(31, -1) == Bytes(310, 690));
}

TEST_CASE("records longer than what is read at a time are found whole") {
  const TemporaryFolder folder;
  const std::string long_text(size_t{3} << 20, 'x');
  Write(folder.File("a.csv"), "a,b\n1,\"" + long_text + "\n\"\n2,y\n");
  const CsvFile file(folder.File("a.csv"), {.kept_bytes = 0});
  REQUIRE(file.records() == 2);
  CsvFile::Window window;
  CHECK(file.Record(0, window).size() == long_text.size() + 5);
  CHECK(file.Record(1, window) == "2,y");
}

TEST_CASE("batches are the same bits with one worker and with two, in each order") {
  const TemporaryFolder folder;
  std::string text = "a,b,c\n";
  for (int i = 0; i < 500; ++i) text += fmt::format("{},{}.25,\"w\"\"{}\"\n", i, i, i % 7);
  Write(folder.File("a.csv"), text);
  InputFnOptions options = CsvOf(folder.File("a.csv"));
  options.repeat = 2;
  for (const int64_t window : {int64_t{0}, int64_t{50}, int64_t{-1}}) {
    if (window != 0) options.shuffle = window < 0 ? Full() : Window(window);
    const auto one = Open(options, {.batch_size = 32, .threads = 1});
    const auto two = Open(options, {.batch_size = 32, .threads = 2});
    int batches = 0;
    for (;; ++batches) {
      const std::optional<Batch> x = one->Next();
      const std::optional<Batch> y = two->Next();
      REQUIRE(x.has_value() == y.has_value());
      if (!x) break;
      CHECK(x->after == y->after);
      for (size_t i = 0; i < 3; ++i) CHECK(SameBits(x->features[i], y->features[i]));
    }
    CHECK(batches == 32);
  }
}

TEST_CASE("damaged files give records or faults with a place, never anything else") {
  const TemporaryFolder folder;
  std::string sound = "a,b,c\n";
  for (int i = 0; i < 20; ++i) sound += fmt::format("{},{}.5,\"x\"\"{}, y\"\r\n", i, i, i);
  int faults = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    std::string text = sound;
    const auto word = Philox({seed, 9}, 0, 0);
    const size_t at = word[0] % text.size();
    constexpr std::string_view kDamage = "\",\n\r\0x\xff";
    if (seed % 4 == 0) {
      text.resize(at);
    } else if (seed % 4 == 1) {
      text.erase(at, 1 + word[1] % 5);
    } else {
      text[at] = kDamage[word[1] % kDamage.size()];
    }
    Write(folder.File("a.csv"), text);
    InputFnOptions options = CsvOf(folder.File("a.csv"));
    try {
      const auto stream = Open(options, {.threads = 1});
      while (stream->Next()) continue;
    } catch (const Error& error) {
      ++faults;
      CHECK(error.code() == Code::kData);
      const Fault& fault = error.faults().front();
      CHECK((fault.place.line > 0 || fault.message.find("no records") == 0 ||
             fault.message.find("two columns") == 0 ||
             fault.message.find("the file is empty") != std::string::npos));
    }
  }
  CHECK(faults > 50);
  CHECK(faults < 400);
}

}  // namespace tpuest::data
