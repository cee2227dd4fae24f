#include "core/backend/rows/row_table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "tests/core/backend/rows/numbered_rows.h"

namespace tpuest {
namespace {

std::vector<float> Row(const RowTable& table, int column, int64_t row) {
  std::vector<float> values(static_cast<size_t>(table.width()));
  table.ReadRange(column, row, 1, values.data());
  return values;
}

}  // namespace

TEST_CASE("a row that nobody wrote is drawn, and one that was written is what was written") {
  for (const RowLayout layout : kLayouts) {
    RowTable table(10, 2, Numbered(), {.layout = layout});
    const float seven[] = {7, 8};
    table.Write(0, 3, seven);
    CHECK(Row(table, 0, 2) == std::vector<float>{4, 5});
    CHECK(Row(table, 0, 3) == std::vector<float>{7, 8});
    CHECK(Row(table, 1, 3) == std::vector<float>{.1F, .1F});
    CHECK(table.IsWritten(3));
    CHECK(!table.IsWritten(2));
    CHECK(table.WrittenRows() == std::vector<int64_t>{3});
    const std::vector<int64_t> asked = {9, 3, 0};
    std::vector<float> values(6);
    table.Read(0, asked, values.data());
    CHECK(values == std::vector<float>{18, 19, 7, 8, 0, 1});
  }
}

TEST_CASE("a table of 10^9 rows holds only written rows, with the same values as an array") {
  constexpr int64_t kStride = 999'983;
  RowTable large(1'000'000'000, 2, Numbered(), {});
  CHECK(large.layout() == RowLayout::kIndex);
  for (int64_t i = 0; i < 5000; ++i) {
    const float values[] = {static_cast<float>(i), 1};
    large.Write(0, i * kStride % large.rows(), values);
  }
  CHECK(large.written() == 5000);
  for (int64_t i = 0; i < 5000; ++i) {
    CHECK(Row(large, 0, i * kStride % large.rows())[0] == static_cast<float>(i));
  }
  const std::vector<int64_t> rows = large.WrittenRows();
  CHECK(std::is_sorted(rows.begin(), rows.end()));
  CHECK(rows.size() == 5000);
}

TEST_CASE("a million rows of 16 and their slots take at most 160 MB") {
  CHECK(RowTable::BytesOf(1'000'000'000, 1'000'000, 128, RowLayout::kIndex) <= 160'000'000);
  CHECK(RowTable::LayoutOf(1'000'000, 128, RowLayout::kAuto) == RowLayout::kArray);
}

TEST_CASE("a rollback undoes the writes of a step, including rows that it added") {
  for (const RowLayout layout : kLayouts) {
    RowTable table(4000, 2, Numbered(), {.layout = layout});
    const float before[] = {1, 2};
    for (int64_t row = 0; row < 700; ++row) table.Write(0, row * 3, before);
    table.Note();
    const float nan[] = {std::numeric_limits<float>::quiet_NaN(), 0};
    const float after[] = {5, 6};
    for (int64_t row = 0; row < 2000; ++row) table.Write(0, row, after);
    for (int64_t row = 0; row < 30; ++row) table.Write(row % 2, row, before);
    CHECK(table.NotedIsFinite());
    table.Write(1, 1, nan);
    CHECK(!table.NotedIsFinite());
    table.Write(1, 1, after);
    CHECK(!table.NotedIsFinite());
    table.TakeBack();
    CHECK(table.NotedIsFinite());
    CHECK(table.written() == 700);
    for (int64_t row = 0; row < 2100; ++row) {
      CHECK(table.IsWritten(row) == (row % 3 == 0));
      const auto number = static_cast<float>(2 * row);
      const std::vector<float> expected =
          row % 3 == 0 ? std::vector<float>{1, 2} : std::vector<float>{number, number + 1};
      CHECK(Row(table, 0, row) == expected);
      CHECK(Row(table, 1, row)[0] == .1F);
    }
  }
}

TEST_CASE("of values that are set whole those are written that would not be drawn") {
  for (const RowLayout layout : kLayouts) {
    RowTable table(100, 2, Numbered(), {.layout = layout});
    std::vector<float> values(200);
    table.ReadRange(0, 0, 100, values.data());
    values[41] = -1;
    table.SetRange(0, 0, 100, values.data());
    CHECK(table.WrittenRows() == std::vector<int64_t>{20});
    CHECK(Row(table, 0, 20) == std::vector<float>{40, -1});
  }
}

TEST_CASE("a read of all rows writes none, and what is taken back after it is drawn again") {
  for (const RowLayout layout : kLayouts) {
    RowTable table(10'000, 2, Numbered(), {.layout = layout});
    std::vector<float> values(20'000);
    table.ReadRange(1, 0, 10'000, values.data());
    table.ReadRange(0, 3, 9'000, values.data());
    CHECK(values[17'999] == 18'005);
    CHECK(table.written() == 0);
    table.Note();
    const float other[] = {5, 6};
    table.Write(0, 70, other);
    CHECK(Row(table, 1, 70)[0] == .1F);
    table.TakeBack();
    CHECK(table.written() == 0);
    CHECK(Row(table, 0, 70) == std::vector<float>{140, 141});
  }
}

TEST_CASE("a table that needs more than its budget says the sum") {
  RowKeeping keeping{.layout = RowLayout::kIndex};
  keeping.budget->most = 3 << 20;
  RowTable table(1'000'000, 64, Numbered(), keeping);
  const std::vector<float> values(64, 1);
  try {
    for (int64_t row = 0; row < 100'000; ++row) table.Write(0, row, values.data());
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.code() == Code::kResource);
    CHECK(error.message().find("max_resident_bytes is 3145728") != std::string::npos);
    CHECK(error.message().find("512 bytes each") != std::string::npos);
  }
  CHECK_THROWS_AS(
      RowTable(1'000'000, 64, Numbered(), {.layout = RowLayout::kArray, .budget = keeping.budget}),
      const Error&);
}

}  // namespace tpuest
