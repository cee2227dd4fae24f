// Tables of which a step updates exactly its rows, however many rows it might have.

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/backend/cpu/program.h"
#include "core/backend/rows/row_table.h"
#include "core/ops/all_ops.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/replica_rows.h"
#include "core/ops/state.h"
#include "tests/core/backend/rows/numbered_rows.h"

namespace tpuest {
namespace {

constexpr int64_t kTableRows = 1000;
constexpr int64_t kTableWidth = 2;
constexpr int kTableReplicas = 2;
constexpr int64_t kMostOfReplica = 40;

using Sums = std::map<int64_t, float>;  // by row: the change of its first number

// Two tables, and updates of both by the same rows: w -= sum, over replicas.
struct TwoTables {
  OpRegistry registry{ops::AllOps()};
  Graph graph{registry};
  Value ids = graph.Placeholder(DType::kInt64, {kMostOfReplica}, "ids");
  Value values = graph.Placeholder(DType::kFloat, {kMostOfReplica, kTableWidth}, "values");
  VariableStore variables;
  std::vector<Node*> updates;

  TwoTables() {
    variables.tables().KeepRows({});
    for (const std::string name : {"first", "second"}) {
      std::vector<RowVariable> rows = Numbered();
      rows.resize(1);
      rows[0].name = name;
      variables.SetTable(
          std::make_shared<RowTable>(kTableRows, kTableWidth, std::move(rows), RowKeeping()));
      Variable* const table =
          graph.AddVariable(name, DType::kFloat, {kTableRows, kTableWidth}, graph.Scalar(0.0F));
      const ops::GatheredRows all = ops::GatherRows(ids, values, kTableReplicas);
      const ops::SummedRows rows_of =
          ops::SumRowsOfReplicas(all.indices, all.values, kTableReplicas);
      const Value there = ops::Maximum(rows_of.indices, graph.ScalarOf(rows_of.indices.dtype(), 0));
      const Value moved = ops::Sub(ops::GatherOwnRows(table->handle, there), rows_of.sums);
      updates.push_back(ops::ResourceScatterUpdate(table->handle, rows_of.indices, moved));
    }
  }
  std::unique_ptr<Program> Compile(int threads) {
    const ProgramSpec spec{
        &graph,
        {{ids, {kMostOfReplica}, false}, {values, {kMostOfReplica, kTableWidth}, false}},
        {},
        updates,
        ops::Sum(values)};
    return MakeCpuBackend()->Compile(spec, {.replicas = kTableReplicas, .threads = threads},
                                     variables);
  }
  [[nodiscard]] float First(const std::string& name, int64_t row) const {
    const RowColumn& rows = *variables.tables().Find(name);
    float values_of[kTableWidth] = {};
    rows.table->ReadRange(rows.column, row, 1, values_of);
    return values_of[0];
  }
};

// Feeds with this number of rows per replica, each once or more, with -1 between them; adds to the
// sums.
StepFeeds FeedsOf(int64_t count, int64_t stride, Sums& sums) {
  StepFeeds feeds(2);
  for (int r = 0; r < kTableReplicas; ++r) {
    Tensor ids(DType::kInt64, {kMostOfReplica});
    Tensor values(DType::kFloat, {kMostOfReplica, kTableWidth});
    std::fill_n(ids.data<int64_t>(), kMostOfReplica, -1);
    std::fill_n(values.data<float>(), values.elements(), 0.0F);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t at = (i * 3) % kMostOfReplica;
      const int64_t row = (i + r * count / 2) * stride % kTableRows;
      const auto value = static_cast<float>(i + 1) / 8;
      ids.data<int64_t>()[at] = row;
      values.data<float>()[at * kTableWidth] = value;
      sums[row] += value;
    }
    feeds[0].push_back(ids);
    feeds[1].push_back(values);
  }
  return feeds;
}

}  // namespace

TEST_CASE("of rows that are filled up those are updated that are there, step after step") {
  for (const int threads : {1, 2}) {
    TwoTables tables;
    const std::unique_ptr<Program> program = tables.Compile(threads);
    Sums sums;
    std::vector<StepFeeds> steps;
    for (const int64_t count : {40, 0, 1, 13, 39, 2, 20, 5, 40, 7}) {
      steps.push_back(FeedsOf(count, 1 + count * 7, sums));
    }
    for (const StepResult& result : program->Run(steps)) CHECK(result.applied);
    CHECK(sums.size() > 100);
    for (const std::string name : {"first", "second"}) {
      for (int64_t row = 0; row < kTableRows; ++row) {
        const auto begin = static_cast<float>(row * kTableWidth);
        const auto moved = sums.find(row);
        CHECK(tables.First(name, row) == begin - (moved == sums.end() ? 0 : moved->second));
      }
      CHECK(tables.variables.tables().Find(name)->table->written() ==
            static_cast<int64_t>(sums.size()));
    }
  }
}

TEST_CASE("a row that would not be finite takes back what a step wrote of all tables") {
  TwoTables tables;
  const std::unique_ptr<Program> program = tables.Compile(2);
  Sums sums;
  std::vector<StepFeeds> steps = {FeedsOf(9, 11, sums)};
  CHECK(program->Run(steps)[0].applied);
  const float before = tables.First("second", 22);
  Sums ignored;
  steps = {FeedsOf(30, 11, ignored)};
  // Both are finite, but their sum over the replicas is not.
  for (const int r : {0, 1}) {
    steps[0][0][static_cast<size_t>(r)].data<int64_t>()[39] = 500;
    steps[0][1][static_cast<size_t>(r)].data<float>()[39 * kTableWidth + 1] =
        r == 0 ? 3e38F : 2e38F;
  }
  const StepResult result = program->Run(steps)[0];
  CHECK(!result.applied);
  CHECK(result.not_finite == "first");
  CHECK(tables.First("second", 22) == before);
  for (const std::string name : {"first", "second"}) {
    CHECK(tables.variables.tables().Find(name)->table->written() ==
          static_cast<int64_t>(sums.size()));
  }
}

}  // namespace tpuest
