#include "core/backend/rows/row_counts.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/backend/backend.h"
#include "core/backend/rows/row_table.h"
#include "core/base/error.h"

namespace tpuest {
namespace {

// A table's counts by these rules, and steps that use rows.
struct CountedSteps {
  explicit CountedSteps(const RowRules& rules)
      : row_counts("t", rules, std::make_shared<RowBudget>()) {}

  std::vector<int64_t> Step(const std::vector<int64_t>& rows) {
    for (const int64_t row : rows) row_counts.See(row);
    return row_counts.EndStep(++step);
  }

  RowCounts row_counts;
  int64_t step = 0;
};

RowVariable CountedWeights(RowDraw draw) { return {"t", std::move(draw)}; }

void FirstNumbers(std::span<const uint64_t> firsts, int64_t n, float* to) {
  for (const uint64_t first : firsts) {
    for (uint64_t i = first; i < first + static_cast<uint64_t>(n); ++i) {
      *to++ = static_cast<float>(i);
    }
  }
}

}  // namespace

TEST_CASE("a row is trained from its third use on, once a decision has counted two") {
  CountedSteps counted({.admit_after = 3, .evict_after_steps = {}, .decides_every = 2});
  CHECK(counted.Step({5, 7}).empty());
  CHECK(counted.Step({5}).empty());  // decides: 5 was used twice
  CHECK(counted.row_counts.IsTrained(5));
  CHECK(!counted.row_counts.IsTrained(7));
  CHECK(counted.Step({7}).empty());
  CHECK(!counted.row_counts.IsTrained(7));  // step 3 decides nothing
  CHECK(counted.Step({}).empty());
  CHECK(counted.row_counts.IsTrained(7));
  CHECK(!counted.row_counts.IsTrained(9));
  CHECK(counted.row_counts.Sorted() == std::vector<RowCount>{{5, 2, 2, 1}, {7, 3, 2, 1}});
}

TEST_CASE("what is known of rows is asked for by their numbers, put in and let go") {
  CountedSteps counted({.admit_after = 2, .evict_after_steps = {}, .decides_every = 1});
  CHECK(counted.Step({9, 4, 6}).empty());
  CHECK(counted.row_counts.Sorted(4, 3) == std::vector<RowCount>{{4, 1, 1, 1}, {6, 1, 1, 1}});
  CHECK(counted.row_counts.Sorted(5, 1).empty());
  const std::array<int64_t, RowCount::kNumbers> numbers = {6, 8, 3, 1};
  const RowCount line = RowCount::Of(numbers);
  CHECK(line.Record() == numbers);
  CHECK(line == RowCount{6, 3, 8, 1});
  counted.row_counts.Put(line);
  counted.row_counts.Put({2, 1, 1, 0});
  CHECK(counted.row_counts.Sorted() ==
        std::vector<RowCount>{{2, 1, 1, 0}, {4, 1, 1, 1}, {6, 3, 8, 1}, {9, 1, 1, 1}});
  counted.row_counts.KeepIf([](int64_t row) { return row % 2 == 1; });
  CHECK(counted.row_counts.Sorted() == std::vector<RowCount>{{9, 1, 1, 1}});
  CHECK(!counted.row_counts.IsTrained(4));
}

TEST_CASE("a step sees a row once, and one that is not applied sees nothing") {
  CountedSteps counted({.admit_after = 9, .evict_after_steps = {}, .decides_every = 100});
  CHECK(counted.Step({3, 3, 3}).empty());
  counted.row_counts.See(3);
  counted.row_counts.See(4);
  counted.row_counts.DropStep();
  CHECK(counted.Step({}).empty());
  CHECK(counted.row_counts.Sorted() == std::vector<RowCount>{{3, 1, 1, 0}});
}

TEST_CASE("a row that no step used for three steps is forgotten, and its count restarts") {
  CountedSteps counted({.admit_after = 2, .evict_after_steps = 3, .decides_every = 2});
  CHECK(counted.Step({1, 2}).empty());
  CHECK(counted.Step({2}).empty());
  CHECK(counted.row_counts.IsTrained(1));
  CHECK(counted.Step({}).empty());
  CHECK(counted.Step({}) == std::vector<int64_t>{1});  // 2 was used two steps ago
  CHECK(!counted.row_counts.IsTrained(1));
  CHECK(counted.row_counts.IsTrained(2));
  CHECK(counted.Step({1}).empty());
  CHECK(counted.Step({}) == std::vector<int64_t>{2});
  CHECK(counted.row_counts.Sorted() == std::vector<RowCount>{{1, 5, 1, 1}});
}

TEST_CASE("restored counts continue as if they had never been saved, for any number of rows") {
  const RowRules rules{.admit_after = 3, .evict_after_steps = 40, .decides_every = 5};
  CountedSteps whole(rules);
  CountedSteps cut(rules);
  for (int64_t step = 0; step < 100; ++step) {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < 60; ++i)
      rows.push_back((step * step * 31 + i * 7919) % 5003 * 1'000'003);
    const std::vector<int64_t> forgotten = whole.Step(rows);
    CHECK(std::is_sorted(forgotten.begin(), forgotten.end()));
    CHECK(cut.Step(rows) == forgotten);
    if (step % 17 == 0) cut.row_counts.Set(cut.row_counts.Sorted());
  }
  CHECK(whole.row_counts.Sorted().size() > 1000);
  CHECK(whole.row_counts.Sorted() == cut.row_counts.Sorted());
}

TEST_CASE("counts are a part of what tables may hold") {
  const auto budget = std::make_shared<RowBudget>();
  {
    RowCounts row_counts("t", {.admit_after = 2}, budget);
    budget->most = 100'000;
    for (int64_t row = 0; row < 10'000; ++row) row_counts.See(row);
    CHECK_THROWS_WITH_AS(std::ignore = row_counts.EndStep(1),
                         doctest::Contains("tpuest.embeddings.max_resident_bytes is 100000"),
                         Error);
  }
  CHECK(budget->held == 0);
}

TEST_CASE("a forgotten row reads as it began, of a table that is kept by rows and of a whole one") {
  VariableStore store;
  const RowRules rules{.admit_after = 1, .evict_after_steps = 1, .decides_every = 1};
  SUBCASE("by rows") {
    const auto table = std::make_shared<RowTable>(
        10, 2, std::vector<RowVariable>{CountedWeights(FirstNumbers)}, RowKeeping{});
    const float values[] = {-1, -2};
    table->Write(0, 3, values);
    table->Write(0, 4, values);
    store.SetTable(table);
  }
  SUBCASE("whole") {
    Tensor whole(DType::kFloat, {10, 2});
    CountedWeights(FirstNumbers).DrawRows(0, 10, 2, whole.data<float>());
    std::fill_n(whole.data<float>() + 6, 4, -1.0F);
    store.Set("t", whole);
  }
  const auto row_counts = std::make_shared<RowCounts>("t", rules, std::make_shared<RowBudget>());
  row_counts->Set({{.row = 3, .last_step = 6, .count = 1}, {.row = 4, .last_step = 7, .count = 1}});
  store.tables().Count(
      {.row_counts = row_counts, .width = 2, .variables = {CountedWeights(FirstNumbers)}});
  store.Set("global_step", Tensor::Scalar<int64_t>(7));
  CHECK(store.tables().FindWatch("t")->counts);
  CHECK(store.tables().FindWatch("u") == nullptr);
  store.EndStep(false);
  store.EndStep(true);
  std::vector<float> rows(4);
  if (const RowColumn* const kept = store.tables().Find("t")) {
    kept->table->ReadRange(0, 3, 2, rows.data());
  } else {
    std::copy_n(store.Get("t").data<float>() + 6, 4, rows.data());
  }
  CHECK(std::vector<float>(rows.begin(), rows.begin() + 2) == std::vector<float>{6, 7});
  CHECK(rows[2] == -1);
}

}  // namespace tpuest
