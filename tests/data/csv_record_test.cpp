#include "core/base/random.h"
#include "data/csv/record.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

const CsvDialect kPlain = {.quotes = false};

std::vector<std::string> Fields(std::string_view record, const CsvDialect& dialect = {}) {
  std::vector<CsvField> fields;
  const std::optional<CsvFault> fault = SplitCsvRecord(record, dialect, fields);
  if (fault) return {fmt::format("{} at {}", fault->message, fault->offset)};
  std::vector<std::string> texts;
  for (const CsvField& field : fields) {
    texts.emplace_back();
    if (field.doubled) {
      AppendUnquoted(field.text, texts.back());
    } else {
      texts.back() = field.text;
    }
  }
  return texts;
}

std::vector<std::string> Records(std::string_view text, const CsvDialect& dialect = {}) {
  std::vector<std::string> records;
  while (!text.empty()) {
    const size_t size = CsvRecordSize(text, true, dialect).value();
    records.emplace_back(WithoutLineEnd(text.substr(0, size)));
    text.remove_prefix(size);
  }
  return records;
}

// Splits a record one character at a time, as the definition says.
std::optional<std::vector<std::string>> SlowFields(const std::string& record) {
  std::vector<std::string> fields(1);
  for (size_t i = 0; i < record.size();) {
    if (record[i] == '"') {
      if (!fields.back().empty()) return std::nullopt;
      for (++i;; ++i) {
        if (i == record.size()) return std::nullopt;
        if (record[i] == '"' && (i + 1 == record.size() || record[i + 1] != '"')) break;
        if (record[i] == '"') ++i;
        fields.back() += record[i];
      }
      ++i;
      if (i < record.size() && record[i] != ',') return std::nullopt;
      if (i == record.size()) break;
    }
    if (record[i] == ',') {
      fields.emplace_back();
    } else {
      fields.back() += record[i];
    }
    ++i;
  }
  return fields;
}

// Random text of characters with a meaning.
std::string Noise(uint64_t seed, size_t size) {
  constexpr std::string_view kCharacters = "a1,,\"\"\n\r ";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kCharacters[Philox({seed, 5}, i, 0)[0] % kCharacters.size()];
  }
  return text;
}

}  // namespace

TEST_CASE("fields lie between delimiters, wherever these fall in a word of eight bytes") {
  CHECK(Fields("a,bc,d") == std::vector<std::string>{"a", "bc", "d"});
  CHECK(Fields("") == std::vector<std::string>{""});
  CHECK(Fields(",") == std::vector<std::string>{"", ""});
  CHECK(Fields("1234567,9") == std::vector<std::string>{"1234567", "9"});
  CHECK(Fields("12345678,") == std::vector<std::string>{"12345678", ""});
  CHECK(Fields(",,,,,,,,,") == std::vector<std::string>(10));
  CHECK(Fields("a\tb,c", {.delimiter = '\t'}) == std::vector<std::string>{"a", "b,c"});
  // Bytes that differ from a comma only in the highest bit.
  CHECK(Fields("\xac\xac,\xac") == std::vector<std::string>{"\xac\xac", "\xac"});
}

TEST_CASE("quoted fields hold delimiters, line ends and doubled quotes") {
  CHECK(Fields(R"("a,b",c)") == std::vector<std::string>{"a,b", "c"});
  CHECK(Fields("\"a\r\nb\",c") == std::vector<std::string>{"a\r\nb", "c"});
  CHECK(Fields(R"("say ""hi""","")") == std::vector<std::string>{R"(say "hi")", ""});
  CHECK(Fields(R"("""","""""")") == std::vector<std::string>{R"(")", R"("")"});
  CHECK(Fields(R"(a"b,"c)", kPlain) == std::vector<std::string>{R"(a"b)", R"("c)"});
}

TEST_CASE("misplaced quotes are faults at their byte") {
  CHECK(Fields(R"(ab"c,d)") == std::vector<std::string>{"a quote inside an unquoted field at 2"});
  CHECK(Fields(R"(a,"bc)") ==
        std::vector<std::string>{"the quote that opens here is never closed at 2"});
  CHECK(Fields(R"("a"b,c)") ==
        std::vector<std::string>{"text follows the field's closing quote at 2"});
}

TEST_CASE("records end with LF, CRLF or CR outside of quotes; the last needs none") {
  const std::vector<std::string> three = {"a,1", "b,2", "c,3"};
  CHECK(Records("a,1\nb,2\nc,3") == three);
  CHECK(Records("a,1\r\nb,2\r\nc,3\r\n") == three);
  CHECK(Records("a,1\rb,2\rc,3\r") == three);
  CHECK(Records("a\n\nb") == std::vector<std::string>{"a", "", "b"});
  CHECK(Records("\"x\ny\",1\nz,2\n") == std::vector<std::string>{"\"x\ny\",1", "z,2"});
  CHECK(Records("\"x\"\"\ny\",1\nz,2") == std::vector<std::string>{"\"x\"\"\ny\",1", "z,2"});
  CHECK(Records("a\"\nb\n") == std::vector<std::string>{"a\"", "b"});
  CHECK(Records("\"a\nb\n", kPlain) == std::vector<std::string>{"\"a", "b"});
}

TEST_CASE("a record that may continue is not taken for a complete one") {
  for (const std::string text : {"a,b", "a,b\r", "a,\"b\n", "a,\"b\"", "\""}) {
    CHECK(!CsvRecordSize(text, false, {}).has_value());
    CHECK(CsvRecordSize(text, true, {}) == text.size());
  }
}

TEST_CASE("the size of a record does not depend on how much of the following text is available") {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const std::string text = Noise(seed, 1 + seed % 60);
    const std::optional<size_t> whole = CsvRecordSize(text, true, {});
    REQUIRE(whole.has_value());
    REQUIRE(*whole >= 1);
    REQUIRE(*whole <= text.size());
    for (size_t size = 0; size < text.size(); ++size) {
      const auto part = CsvRecordSize(std::string_view(text).substr(0, size), false, {});
      if (part) CHECK(*part == *whole);
    }
  }
}

TEST_CASE("fields are those of the definition, and nothing is read beyond the record") {
  for (uint64_t seed = 0; seed < 5000; ++seed) {
    const std::string noise = Noise(seed, seed % 40);
    // A copy of the exact size, so that checked builds detect reads beyond the end.
    const std::vector<char> record(noise.begin(), noise.end());
    const std::optional<std::vector<std::string>> expected = SlowFields(noise);
    std::vector<CsvField> fields;
    const bool faulty = SplitCsvRecord({record.data(), record.size()}, {}, fields).has_value();
    REQUIRE(faulty == !expected.has_value());
    if (expected) REQUIRE(Fields(noise) == *expected);
  }
}

}  // namespace tpuest::data
