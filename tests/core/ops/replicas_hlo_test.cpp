// Values that differ between replicas, random numbers and sums, are the same on a PJRT plugin as on
// the CPU engine.

#include <doctest/doctest.h>

#include "core/backend/cpu/program.h"
#include "core/backend/hlo/lower.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/random.h"
#include "core/ops/reduction.h"
#include "core/ops/replica_rows.h"
#include "tests/core/ops/op_checks.h"
#include "tests/core/ops/op_run.h"
#include "tests/core/ops/pjrt_run.h"
#include "tests/cpu_plugin.h"

namespace tpuest {
namespace {

constexpr int kReplicas = 3;
constexpr int64_t kStep = 5000000123;  // both words of the counter's step

using Builder = Value (*)(Value, DType, std::string_view);

// A graph over a batch x of seven rows per replica.
struct BatchGraph {
  explicit BatchGraph(int64_t columns) : graph(TestRegistry()), shape{7, columns} {
    x = graph.Placeholder(DType::kFloat, {kUnknownDim, columns}, "x");
    step = graph.AddVariable("global_step", DType::kInt64, {}, graph.Scalar<int64_t>(0));
  }
  // Numbers of the batch's shape and of a fixed one.
  void Draw(Builder build, DType dtype) {
    fetches.push_back(build(ops::ShapeOf(x), dtype, ""));
    fetches.push_back(build(ops::Int32s(graph, {5}), dtype, ""));
  }
  void DrawIntegers(Value low, Value high) {
    fetches.push_back(ops::RandomUniformInt(ops::ShapeOf(x), low, high));
  }
  // Reads the step last, so that the programs know it.
  [[nodiscard]] ProgramSpec Spec() const {
    std::vector<Value> all = fetches;
    all.push_back(step->value);
    return {.graph = &graph, .feeds = {{x, shape, true}}, .fetches = all};
  }
  [[nodiscard]] Tensor Rows(int replica) const {
    return Wave(shape, 1, static_cast<float>(replica));
  }

  Graph graph;
  Shape shape;
  Value x;
  Variable* step;
  std::vector<Value> fetches;
};

// results[i][replica]
std::vector<std::vector<Tensor>> OnEngine(const BatchGraph& batch, uint64_t seed) {
  VariableStore variables;
  variables.Set("global_step", Tensor::Scalar<int64_t>(kStep));
  const auto program =
      MakeCpuBackend()->Compile(batch.Spec(), {.replicas = kReplicas, .seed = seed}, variables);
  StepFeeds feeds(1);
  for (int replica = 0; replica < kReplicas; ++replica) feeds[0].push_back(batch.Rows(replica));
  return program->Run({&feeds, 1})[0].fetches;
}

// results[replica][i]
std::vector<std::vector<Tensor>> OnPlugin(const BatchGraph& batch, uint64_t seed) {
  const auto client = LoadPjrtPlugin(CpuPlugin(), kReplicas);
  const LoweredModule module = LowerToHlo(batch.Spec(), {.replicas = kReplicas, .seed = seed});
  REQUIRE(module.variables == std::vector<std::string>{"global_step"});
  std::vector<std::vector<Tensor>> arguments;
  for (int replica = 0; replica < kReplicas; ++replica) {
    arguments.emplace_back();
    if (!module.feeds.empty()) arguments.back().push_back(batch.Rows(replica));
    arguments.back().push_back(Tensor::Scalar<int64_t>(kStep));
  }
  return RunOnHost(*client, *client->Compile(module.text, {.replicas = kReplicas}), arguments);
}

void CheckSame(const BatchGraph& batch, uint64_t seed, double tolerance) {
  const auto expected = OnEngine(batch, seed);
  const auto found = OnPlugin(batch, seed);
  for (size_t i = 0; i < batch.fetches.size(); ++i) {
    for (size_t replica = 0; replica < kReplicas; ++replica) {
      INFO(batch.fetches[i].name(), " of replica ", replica);
      CheckClose(found[replica][i], expected[i][replica], tolerance);
    }
  }
}

constexpr DType kDTypes[] = {DType::kFloat, DType::kDouble, DType::kBfloat16};
const Builder kNormals[] = {ops::RandomStandardNormal, ops::TruncatedNormal};
// A replica begins at a multiple of 4 elements, or at another element.
constexpr int64_t kColumns[] = {4, 3};

TEST_CASE("uniform numbers and integers of XLA's CPU plugin are the engine's to the bit") {
  for (const int64_t columns : kColumns) {
    BatchGraph batch(columns);
    for (const DType dtype : kDTypes) batch.Draw(ops::RandomUniform, dtype);
    Graph& graph = batch.graph;
    batch.DrawIntegers(graph.Scalar(-5), graph.Scalar(7));
    batch.DrawIntegers(graph.Scalar<int64_t>(-4000000000), graph.Scalar<int64_t>(1000000000001));
    CheckSame(batch, 0x9E3779B97F4A7C15, 0);
  }
}

TEST_CASE("normal numbers of XLA's CPU plugin are the engine's to 1e-5") {
  for (const int64_t columns : kColumns) {
    BatchGraph batch(columns * 50);
    for (const Builder build : kNormals) {
      batch.Draw(build, DType::kFloat);
      batch.Draw(build, DType::kDouble);
    }
    CheckSame(batch, 3, 1e-5);
    BatchGraph rounded(columns);
    for (const Builder build : kNormals) rounded.Draw(build, DType::kBfloat16);
    CheckSame(rounded, 3, 0x1p-8);
  }
}

TEST_CASE("sums over replicas of XLA's CPU plugin are the engine's") {
  BatchGraph batch(4);
  batch.fetches = {ops::CrossReplicaSum(ops::Sum(batch.x, {0}), kReplicas),
                   ops::CrossReplicaSum(ops::Size(batch.x), kReplicas),
                   ops::CrossReplicaSum(ops::OfReplica(ops::Sum(batch.x, {0}), 1), kReplicas)};
  CheckSame(batch, 1, 1e-6);
}

TEST_CASE("rows that replicas gather and sum on XLA's CPU plugin are the engine's") {
  BatchGraph batch(4);
  Graph& graph = batch.graph;
  const Value ids = graph.Constant(Tensor::Of<int64_t>({7}, {3, 0, -1, 5, 1, -1, -1}));
  const auto [all_ids, all] = ops::GatherRows(ids, batch.x, kReplicas);
  const ops::SummedRows rows = ops::SumRowsOfReplicas(all_ids, all, kReplicas);
  const Value there = ops::ExpandDims(ops::GreaterEqual(rows.indices, graph.Scalar<int64_t>(0)), 1);
  const Value kept = ops::SelectV2(there, rows.sums, graph.Scalar<float>(0));
  batch.fetches = {all_ids, all, ops::UnsortedSegmentSum(kept, rows.indices, 6)};
  CheckSame(batch, 1, 1e-6);
}

}  // namespace
}  // namespace tpuest
