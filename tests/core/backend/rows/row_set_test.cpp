#include "core/backend/rows/row_set.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "core/backend/backend.h"
#include "core/backend/rows/row_counts.h"

namespace tpuest {

TEST_CASE("a set of rows has each once, and gives them in order") {
  RowSet rows;
  CHECK(rows.Sorted().empty());
  std::vector<int64_t> expected;
  for (int64_t i = 0; i < 5000; ++i) {
    rows.Insert((i * 7919) % 5000);
    rows.Insert((i * 31) % 5000);
    expected.push_back(i);
  }
  CHECK(rows.Sorted() == expected);
  rows.Clear();
  rows.Insert(int64_t{1} << 40);
  CHECK(rows.Sorted() == std::vector<int64_t>{int64_t{1} << 40});
}

TEST_CASE("a row that is forgotten has changed") {
  VariableStore store;
  store.Set("global_step", Tensor::Scalar<int64_t>(2));
  store.Set("t", Tensor(DType::kFloat, {4, 1}));
  const auto row_counts = std::make_shared<RowCounts>(
      "t", RowRules{.admit_after = 1, .evict_after_steps = 1, .decides_every = 1},
      std::make_shared<RowBudget>());
  row_counts->Set({{.row = 3, .last_step = 1, .count = 1, .is_trained = 1}});
  const RowDraw zeros = [](std::span<const uint64_t> firsts, int64_t n, float* to) {
    std::fill_n(to, static_cast<int64_t>(firsts.size()) * n, 0.0F);
  };
  store.tables().Count({.row_counts = row_counts, .width = 1, .variables = {{"t", zeros}}});
  const auto changed = std::make_shared<RowSet>();
  store.tables().NoteChanges({.changed = changed, .variables = {"t"}});
  CHECK(store.tables().FindWatch("t")->row_counts == row_counts);
  store.EndStep(/*applied=*/true);
  CHECK(changed->Sorted() == std::vector<int64_t>{3});
}

}  // namespace tpuest
