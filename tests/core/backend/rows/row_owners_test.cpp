#include "core/backend/rows/row_owners.h"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <utility>

#include "core/backend/backend.h"
#include "core/backend/rows/row_counts.h"
#include "core/backend/rows/row_set.h"
#include "core/backend/rows/table_records.h"
#include "tests/core/backend/cpu/exchange/other_process.h"
#include "tests/core/backend/rows/numbered_rows.h"

namespace tpuest {
namespace {

constexpr int64_t kSharedRows = 10;
constexpr int64_t kSharedWidth = 2;

// A table of ten rows that two processes share, each with its own store; lookups go to the chief's.
struct TwoStores {
  TwoStores(RowDeal deal, RowLayout layout) {
    Keep(worker, std::make_shared<OtherProcess>(deal, 1), layout);
    Keep(chief, std::make_shared<OtherProcess>(deal, 0, &worker), layout);
  }

  [[nodiscard]] RowTable& own() const { return *chief.tables().Find("t")->table; }
  [[nodiscard]] RowTable& theirs() const { return *worker.tables().Find("t")->table; }
  // Passes the worker's rows from the chief's table to the worker.
  void Deal() const {
    theirs().Deal(nullptr);
    own().Deal([this](int owner, int column, int64_t row, std::span<const float> values) {
      CHECK(owner == 1);
      theirs().Write(column, row, values.data());
    });
  }

  VariableStore chief;
  VariableStore worker;

 private:
  static void Keep(VariableStore& store, std::shared_ptr<RowOwners> owners, RowLayout layout) {
    RowKeeping keeping{.layout = layout, .owners = std::move(owners), .least_shared = 0};
    store.tables().KeepRows(keeping);
    store.SetTable(std::make_shared<RowTable>(kSharedRows, kSharedWidth, Numbered(), keeping));
    CountedTable counted{
        .row_counts = std::make_shared<RowCounts>(
            "t", RowRules{.admit_after = 2, .evict_after_steps = 3}, std::make_shared<RowBudget>()),
        .rows = kSharedRows,
        .width = kSharedWidth,
        .variables = Numbered()};
    counted.row_counts->NoteChanges(std::make_shared<RowSet>());
    store.tables().Count(std::move(counted));
    store.tables().NoteChanges(
        {.changed = std::make_shared<RowSet>(), .variables = {"t", "t/Adagrad"}});
  }
};

std::vector<float> SharedRange(const RowTable& table, int column, int64_t first, int64_t n) {
  std::vector<float> values(static_cast<size_t>(n * kSharedWidth));
  table.ReadRange(column, first, n, values.data());
  return values;
}

}  // namespace

TEST_CASE("rows are partitioned in turns, or in equal runs") {
  const OtherProcess mod(RowDeal::kMod);
  const OtherProcess div(RowDeal::kDiv);
  std::vector<int> by_mod;
  std::vector<int> by_div;
  for (int64_t row = 0; row < 7; ++row) {
    by_mod.push_back(mod.OwnerOf(row, 7));
    by_div.push_back(div.OwnerOf(row, 7));
  }
  CHECK(by_mod == std::vector<int>{0, 1, 0, 1, 0, 1, 0});
  CHECK(by_div == std::vector<int>{0, 0, 0, 0, 1, 1, 1});
}

TEST_CASE("a partitioned table holds its own rows, and the chief reads it as if it held all") {
  for (const RowLayout layout : kLayouts) {
    for (const RowDeal deal : {RowDeal::kMod, RowDeal::kDiv}) {
      const TwoStores two(deal, layout);
      const float seven[] = {70, 71};
      const float two_and[] = {20, 21};
      two.own().Write(0, 7, seven);
      two.own().Write(1, 2, two_and);
      two.Deal();
      CHECK(two.own().written() == 1);
      CHECK(two.theirs().written() == 1);
      CHECK(two.own().WrittenRows() == std::vector<int64_t>{2, 7});
      CHECK(SharedRange(two.own(), 0, 6, 3) == std::vector<float>{12, 13, 70, 71, 16, 17});
      CHECK(SharedRange(two.own(), 1, 1, 2) == std::vector<float>{.1F, .1F, 20, 21});
      // A row of another process is read from its owner, unless its value was sent before; it is
      // not written here.
      const int64_t asked[] = {7, 9, 2};
      float values[6] = {};
      two.own().Read(0, asked, values);
      CHECK(values[1] == 71);
      CHECK(values[2] == 18);
      CHECK(values[5] == 5);
      for (const int64_t row : {7, 9, 7}) two.own().AddRemote(row);
      CHECK(two.own().remote().rows == std::vector<int64_t>{7, 9});
      two.own().remote().written = {1, 0};
      two.own().remote().values = {1, 2, 0, 0};
      two.own().Read(0, asked, values);
      CHECK(values[1] == 2);
      CHECK(values[2] == 18);
      two.own().ReleaseRemote();
      two.own().Write(0, 9, seven);
      CHECK(two.own().written() == 1);
      two.own().ReadOwn(0, asked, values);
      CHECK(values[0] == 1);
      CHECK(values[5] == 5);
    }
  }
}

TEST_CASE(
    "row counts and changed rows are partitioned with the rows, and the chief has all records") {
  TwoStores two(RowDeal::kMod, RowLayout::kIndex);
  const float values[] = {1, 2};
  two.own().Write(0, 3, values);
  PutRecords(two.chief.tables(), "t", RowRecords::kSeen,
             std::vector<int64_t>{2, 1, 5, 0, 3, 4, 6, 1});
  PutRecords(two.chief.tables(), "t", RowRecords::kSeenChanged, std::vector<int64_t>{3, 4, 6, 1});
  PutRecords(two.chief.tables(), "t", RowRecords::kSeenGone, std::vector<int64_t>{8});
  PutRecords(two.chief.tables(), "t", RowRecords::kChanged, std::vector<int64_t>{3, 5, 8});
  std::map<RowRecords, std::vector<int64_t>> before;
  for (const RowRecords what :
       {RowRecords::kWritten, RowRecords::kChanged, RowRecords::kDropped, RowRecords::kSeen,
        RowRecords::kSeenChanged, RowRecords::kSeenGone}) {
    before[what] = OwnRecords(two.chief.tables(), "t", what, 0, kSharedRows);
  }
  CHECK(before[RowRecords::kDropped] == std::vector<int64_t>{5, 8});
  CHECK(before[RowRecords::kSeenChanged] == std::vector<int64_t>{3, 4, 6, 1});
  two.Deal();
  // The worker owns the odd rows.
  PutRecords(two.worker.tables(), "t", RowRecords::kSeen, std::vector<int64_t>{3, 4, 6, 1});
  PutRecords(two.worker.tables(), "t", RowRecords::kSeenChanged, std::vector<int64_t>{3, 4, 6, 1});
  PutRecords(two.worker.tables(), "t", RowRecords::kChanged, std::vector<int64_t>{3, 5});
  KeepOwnRecords(two.chief.tables(), "t");
  CHECK(OwnRecords(two.chief.tables(), "t", RowRecords::kSeen, 0, kSharedRows) ==
        std::vector<int64_t>{2, 1, 5, 0});
  CHECK(OwnRecords(two.chief.tables(), "t", RowRecords::kChanged, 0, kSharedRows) ==
        std::vector<int64_t>{8});
  for (const auto& [what, lines] : before) {
    CHECK(AllRecords(two.chief.tables(), "t", what, 0, kSharedRows) == lines);
    const auto numbers = static_cast<int64_t>(NumbersOfRecord(what));
    CHECK(CountAllRecords(two.chief.tables(), "t", what) * numbers ==
          static_cast<int64_t>(lines.size()));
  }
  CHECK(AllRecords(two.chief.tables(), "t", RowRecords::kSeen, 3, 1) ==
        std::vector<int64_t>{3, 4, 6, 1});
  ForgetChanges(two.chief.tables());
  CHECK(AllRecords(two.chief.tables(), "t", RowRecords::kChanged, 0, kSharedRows).empty());
  CHECK(AllRecords(two.chief.tables(), "t", RowRecords::kSeenChanged, 0, kSharedRows).empty());
  CHECK(CountAllRecords(two.chief.tables(), "t", RowRecords::kSeen) == 2);
}

TEST_CASE("a partitioned array has space only for the rows of its process, and keeps them") {
  constexpr int64_t kRows = 1000;
  constexpr int64_t kRecordBytes = 2 * sizeof(float);
  for (const auto& [deal, processes] : {std::pair{RowDeal::kMod, 2},
                                        {RowDeal::kMod, 3},
                                        {RowDeal::kMod, 4},
                                        {RowDeal::kDiv, 2},
                                        {RowDeal::kDiv, 3}}) {
    for (int rank = 0; rank < processes; ++rank) {
      const auto owners = std::make_shared<OtherProcess>(deal, rank, nullptr, processes);
      const RowKeeping keeping{.layout = RowLayout::kArray, .owners = owners, .least_shared = 0};
      RowTable table(kRows, 1, Numbered(), keeping);
      std::vector<int64_t> own;
      for (int64_t row = 0; row < kRows; row += 7) {
        const float value = -static_cast<float>(row);
        table.Write(0, row, &value);
        if (owners->OwnerOf(row, kRows) == rank) own.push_back(row);
      }
      table.Deal(nullptr);
      const int64_t count = owners->Owned(kRows).count();
      CHECK(keeping.budget->held == RowTable::BytesOf(count, 0, kRecordBytes, RowLayout::kArray));
      CHECK(table.WrittenRows() == own);
      CHECK(table.written() == static_cast<int64_t>(own.size()));
      for (int64_t row = 0; row < kRows; ++row) {
        const bool is_own = owners->OwnerOf(row, kRows) == rank;
        CHECK(table.IsWritten(row) == (is_own && row % 7 == 0));
        if (!is_own) continue;
        float value = 0;
        table.Read(0, std::span(&row, 1), &value);
        CHECK(value == (row % 7 == 0 ? -1.0F : 1.0F) * static_cast<float>(row));
        table.Write(0, row, &value);
      }
      CHECK(table.written() == count);
    }
  }
}

TEST_CASE(
    "an array of a group takes of the budget what its process has, and what is written beyond") {
  constexpr int64_t kRows = 1000;
  constexpr int64_t kRecordBytes = 2 * sizeof(float);
  const int64_t own_bytes = RowTable::BytesOf(kRows / 2, 0, kRecordBytes, RowLayout::kArray);
  const RowKeeping keeping{.layout = RowLayout::kArray,
                           .owners = std::make_shared<OtherProcess>(RowDeal::kMod, 1),
                           .least_shared = 0};
  keeping.budget->most = own_bytes + 10 * kRecordBytes;
  {
    RowTable table(kRows, 1, Numbered(), keeping);
    CHECK(keeping.budget->held == own_bytes);
    const float value = 1;
    for (int64_t row = 0; row < kRows / 2 + 10; ++row) table.Write(0, row, &value);
    CHECK_THROWS_WITH_AS(table.Write(0, kRows - 1, &value), doctest::Contains("510 rows"), Error);
    table.Deal(nullptr);
    CHECK(keeping.budget->held == own_bytes);
    for (int64_t row = 1; row < kRows; row += 2) table.Write(0, row, &value);
    CHECK(table.written() == kRows / 2);
  }
  CHECK(keeping.budget->held == 0);
}

}  // namespace tpuest
