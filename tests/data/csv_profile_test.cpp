#include "data/csv/profile.h"
#include "data/csv/split.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

CsvProfile ProfileOf(const std::string& text, CsvSource source = {}) {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.File("a.csv"), text, false);
  source.file_pattern = folder.File("a.csv");
  return ProfileCsv(source);
}

TEST_CASE("a profile has each column's type, range, mean, deviation and empty fields") {
  const CsvProfile profile = ProfileOf("n,x,word\n1,0.5,a\n3,,b\n5,1.5,a\n");
  REQUIRE(profile.columns.size() == 3);
  CHECK(profile.rows == 3);
  const CsvColumnProfile& n = profile.columns[0];
  CHECK(n.dtype == DType::kInt32);
  CHECK(n.min == 1);
  CHECK(n.max == 5);
  CHECK(n.mean == doctest::Approx(3));
  CHECK(n.std == doctest::Approx(1.6329932));
  const CsvColumnProfile& x = profile.columns[1];
  CHECK(x.dtype == DType::kFloat);
  CHECK(x.present == 2);
  CHECK(x.missing == 1);
  CHECK(x.mean == doctest::Approx(1));
  CHECK(x.std == doctest::Approx(0.5));
  const CsvColumnProfile& word = profile.columns[2];
  CHECK(word.dtype == DType::kString);
  CHECK(word.distinct == 2);
  CHECK(word.texts == std::vector<std::pair<std::string, int64_t>>{{"a", 2}, {"b", 1}});
  CHECK(word.changes == 3);
}

TEST_CASE("moments include only training rows") {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.File("a.csv"), "y\n1\n3\n2\n2\n7000\n", false);
  CsvSource source;
  source.file_pattern = folder.File("a.csv");
  const CsvProfile profile = ProfileCsv(source, {.fraction = 0.2, .last = true});
  CHECK(profile.kept == 1);
  const CsvColumnProfile& y = profile.columns[0];
  CHECK(y.trained == 4);
  CHECK(y.max == 7000);
  CHECK(y.mean == doctest::Approx(2));
  CHECK(y.std == doctest::Approx(0.70710678));
}

TEST_CASE("a hash of each record splits a file in two, whatever its order") {
  RecordSubset kept;
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 1000; ++i) {
    const bool is_of_eval = IsOfEval(fmt::format("{},0.5", i), 0.2);
    kept.Append(is_of_eval);
    if (is_of_eval) expected.push_back(i);
  }
  CHECK(kept.size() > 150);
  CHECK(kept.size() < 250);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < kept.size(); ++i) found.push_back(kept[i]);
  CHECK(found == expected);
}

TEST_CASE("a profile finds the delimiter, and the word that stands for an empty field") {
  const CsvProfile profile = ProfileOf("a;\"b, c\"\n1;?\n2;0.5\n3;?\n");
  CHECK(profile.source.field_delim == ";");
  CHECK(profile.source.na_value == "?");
  CHECK(profile.columns[1].name == "b, c");
  CHECK(profile.columns[1].dtype == DType::kFloat);
  CHECK(profile.columns[1].missing == 2);
  // In a column of words, NA is a word.
  CHECK(ProfileOf("a,b\n1,NA\n2,red\n").source.na_value.empty());
}

TEST_CASE("a column that counts the rows is seen as such") {
  CHECK(ProfileOf("i,j\n7,1\n8,3\n9,4\n").columns[0].counts_rows);
  CHECK_FALSE(ProfileOf("i,j\n7,1\n8,3\n9,4\n").columns[1].counts_rows);
}

TEST_CASE("what is left of an index where rows were taken out still counts them") {
  std::string text = "id,year,sorted\n";
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("{},{},{}\n", i * 4 / 3, 1950 + i, i / 2);
  }
  const CsvProfile profile = ProfileOf(text);
  CHECK(profile.columns[0].counts_rows);        // 0, 1, 2, 4, 5, 6, 8
  CHECK(profile.columns[1].counts_rows);        // one more in each row
  CHECK_FALSE(profile.columns[2].counts_rows);  // 0, 0, 1, 1
  CHECK_FALSE(ProfileOf("id\n1\n2\n4\n").columns[0].counts_rows);
}

TEST_CASE("bad records are counted, and the first is reported") {
  const CsvProfile profile = ProfileOf("a,b\n1,2\n3\n4,5\n6,7,8\n");
  CHECK(profile.bad == 2);
  CHECK(profile.first_bad->line == 3);
  CHECK(profile.first_bad->why == "expected 2 fields, found 1");
  CHECK(profile.columns[0].present == 2);
}

TEST_CASE("of a long file rows are looked at that are spread over it") {
  std::string text = "half,n\n";
  const int64_t rows = 2 * kMostProfiledRows + 1;
  for (int64_t i = 0; i < rows; ++i) text += fmt::format("{},{}\n", i < rows / 2 ? "a" : "b", i);
  const CsvProfile profile = ProfileOf(text);
  CHECK(profile.rows == rows);
  CHECK(profile.looked_at == kMostProfiledRows);
  CHECK(profile.columns[0].texts.front().second == kMostProfiledRows / 2);
  CHECK(profile.columns[1].counts_rows);
  CHECK(profile.columns[1].distinct == kMostProfiledRows);
  CHECK(profile.columns[1].texts.empty());
}

TEST_CASE("a file that is not a table is refused") {
  CHECK_THROWS_WITH_AS((void)ProfileOf(""), doctest::Contains("the file is empty"), Error);
  CHECK_THROWS_WITH_AS((void)ProfileOf(std::string("a,\0b\n1,2\n", 9)),
                       "the file is not text: it has a zero byte", Error);
  CHECK_THROWS_WITH_AS(
      (void)ProfileOf("1,2\n3,4\n"),
      doctest::Contains("expected a header with the columns' names, found \"1,2\""), Error);
  CHECK_THROWS_WITH_AS((void)ProfileOf("a,b,a\n1,2,3\n"),
                       doctest::Contains("two columns are named 'a'"), Error);
}

}  // namespace
}  // namespace tpuest::data
