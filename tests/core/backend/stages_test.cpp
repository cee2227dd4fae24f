// Programs that run once run in stages, which the step threads share.

#include "core/backend/stages.h"

#include <doctest/doctest.h>

#include <atomic>

#include "core/backend/bind.h"
#include "core/backend/cpu/program.h"
#include "core/backend/threads.h"
#include "tests/core/backend/tiny_ops.h"

namespace tpuest {
namespace {

constexpr int64_t kMany = 20000;  // enough elements for another thread

Tensor Filled(int64_t n, float value) {
  Tensor tensor(DType::kFloat, {n});
  std::fill_n(tensor.data<float>(), n, value);
  return tensor;
}

}  // namespace

TEST_CASE(
    "updates of one variable follow each other, and updates of other variables run in parallel") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  Variable* const v = graph.AddVariable("v", DType::kFloat, {}, graph.Scalar(0.0F));
  Variable* const w = graph.AddVariable("w", DType::kFloat, {}, graph.Scalar(0.0F));
  const Value one = graph.Scalar(1.0F);
  Node* const first = graph.AddNode("AssignAddVariableOp", {v->handle, one}, {}, "first");
  Node* const second = graph.AddNode("AssignAddVariableOp", {v->handle, one}, {}, "second");
  Node* const other = graph.AddNode("AssignAddVariableOp", {w->handle, one}, {}, "other");
  Node* const last = graph.AddNode("AssignAddVariableOp", {w->handle, one}, {}, "last");
  last->AddControlInput(second);
  const ProgramSpec spec{&graph, {}, {}, {first, second, other, last}, {}};
  const BoundGraph bound = BindGraph(spec);
  const Schedule schedule = ScheduleGraph(bound, {});
  std::map<std::string, int> stages;
  for (const Phase& phase : schedule.phases) {
    if (phase.level != Level::kUpdate) continue;
    for (const Node* const node : phase.nodes) {
      stages[node->name()] = schedule.nodes[static_cast<size_t>(node->id())].stage;
    }
  }
  CHECK(stages ==
        std::map<std::string, int>{{"first", 0}, {"second", 1}, {"other", 0}, {"last", 2}});
}

TEST_CASE("nodes that only row updates need run with them, before other updates") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  Variable* const rows = graph.AddVariable("rows", DType::kFloat, {}, graph.Scalar(0.0F));
  Variable* const dense = graph.AddVariable("dense", DType::kFloat, {}, graph.Scalar(0.0F));
  const Value x = graph.Placeholder(DType::kFloat, {}, "x");
  const Value sum = graph.Add("CrossReplicaSum", {x});
  const auto scaled = [&](Value of, const std::string& name) {
    return graph.AddNode("Mul", {of, sum}, {}, name)->output(0);
  };
  const Value both = scaled(sum, "both");
  const Value fetched = scaled(sum, "fetched");
  const Value alone = scaled(scaled(both, "first"), "second");
  Node* const of_rows = graph.AddNode("AssignAddVariableOp", {rows->handle, alone}, {}, "of_rows");
  Node* const more = graph.AddNode("AssignAddVariableOp", {rows->handle, fetched}, {}, "more");
  Node* const other = graph.AddNode("AssignAddVariableOp", {dense->handle, both}, {}, "other");
  const ProgramSpec spec{&graph, {{x, {}, false}}, {fetched}, {of_rows, more, other}, {}};
  const BoundGraph bound = BindGraph(spec);
  ScheduleOptions options{.replicas = 2, .cut_feeds = {false}};
  for (const auto& node : bound.graph->nodes()) {
    options.row_updates.push_back(node->name() == "of_rows" || node->name() == "more");
  }
  const Schedule schedule = ScheduleGraph(bound, options);
  std::map<Level, std::vector<std::string>> names;
  for (const Phase& phase : schedule.phases) {
    for (const Node* const node : phase.nodes) names[phase.level].push_back(node->name());
  }
  CHECK(names[Level::kRowUpdate] == std::vector<std::string>{"first", "second", "of_rows", "more"});
  CHECK(names[Level::kUpdate] == std::vector<std::string>{"other"});
  CHECK(names[Level::kGlobal].size() == 3);
}

TEST_CASE(
    "a phase of large results is split into groups of tasks, and a group's results are freed "
    "before the next") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const int64_t elements = kLargePhaseBytes / 4 / static_cast<int64_t>(sizeof(float));
  const Value x = graph.Placeholder(DType::kFloat, {elements}, "x");
  std::vector<Value> sums;
  for (int i = 0; i < 3; ++i) {
    const Value scaled = graph.Add("Mul", {x, graph.Scalar(static_cast<float>(i + 2))});
    sums.push_back(graph.Add("Sum", {scaled}));
  }
  // A task that is large by itself.
  Value large = x;
  for (int i = 0; i < 5; ++i) large = graph.Add("Mul", {large, x});
  sums.push_back(graph.Add("Sum", {large}));
  const ProgramSpec spec{&graph, {{x, {elements}, false}}, sums, {}, {}};
  const BoundGraph bound = BindGraph(spec);
  const Schedule schedule = ScheduleGraph(bound, {.cut_rows = false, .cut_feeds = {false}});
  std::map<std::string, std::vector<int>> stages;
  for (const Phase& phase : schedule.phases) {
    for (const Node* const node : phase.nodes) {
      stages[std::string(node->type())].push_back(
          schedule.nodes[static_cast<size_t>(node->id())].stage);
    }
  }
  CHECK(stages["Mul"] == std::vector<int>{0, 0, 0, 2, 3, 4, 5, 6});
  CHECK(stages["Sum"] == std::vector<int>{1, 1, 1, 7});
}

TEST_CASE("neighbours of a stage read a value that neither may overwrite") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {kMany}, "x");
  const Value shared = graph.Add("Mul", {x, x});
  std::vector<Value> sums;
  for (int i = 0; i < 6; ++i) {
    const Value scaled = graph.Add("Mul", {shared, graph.Scalar(static_cast<float>(i + 1))});
    sums.push_back(graph.Add("Sum", {scaled}));
  }
  VariableStore variables;
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    const auto program = MakeCpuBackend()->Compile({&graph, {{x, {kMany}, false}}, sums, {}, {}},
                                                   {.threads = threads}, variables);
    for (int run = 0; run < 20; ++run) {
      const StepResult result = program->Run(std::vector<StepFeeds>{{{Filled(kMany, 2)}}}).front();
      for (size_t i = 0; i < sums.size(); ++i) {
        REQUIRE(*result.fetches[i][0].data<float>() == 4 * static_cast<float>((i + 1) * kMany));
      }
    }
  }
}

TEST_CASE("a stage is shared if the other threads have enough to do") {
  const Kernel nothing = [](const Task& /*task*/) {};
  StagedWork work;
  work.AddNode(0, -1, {.kernel = nothing, .cost = 10});
  work.AddNode(0, -1, {.kernel = nothing, .cost = 1000000});
  work.AddNode(1, -1, {.kernel = nothing, .cost = 20000});
  work.AddNode(1, -1, {.kernel = nothing, .cost = 20000});
  work.AddNode(2, -1, {.kernel = nothing, .cost = 20000});
  work.AddNode(2, -1, {.kernel = nothing, .cost = 20000, .alone = true});
  const std::vector<Stage> stages = work.Stages(2);
  REQUIRE(stages.size() == 3);
  CHECK((!stages[0].shared && stages[1].shared && !stages[2].shared));
  CHECK(work.Stages(1).size() == 1);
}

TEST_CASE("large work is shared in ranges") {
  const RangeKernel nothing = [](const Task& /*task*/, int64_t /*begin*/, int64_t /*end*/) {};
  StagedWork work;
  work.AddNode(0, -1, {.ranges = nothing, .elements = 100000, .cost = 200000});
  const std::vector<Stage> stages = work.Stages(2);
  REQUIRE(stages.size() == 1);
  CHECK(stages[0].shared);
  int64_t next = 0;
  for (const WorkParts& task : stages[0].tasks) {
    REQUIRE(task.size() == 1);
    CHECK(task.front().begin == next);
    next = task.front().end;
  }
  CHECK(next == 100000);
}

TEST_CASE("the work of a lane is one task, in its order") {
  const Kernel nothing = [](const Task& /*task*/) {};
  const RangeKernel ranges = [](const Task& /*task*/, int64_t /*begin*/, int64_t /*end*/) {};
  StagedWork work;
  work.AddNode(0, 3, {.kernel = nothing, .cost = 20000});
  work.AddNode(0, 1, {.kernel = nothing, .cost = 20000});
  work.AddNode(0, -1, {.kernel = nothing, .cost = 1});
  work.AddNode(0, 3, {.ranges = ranges, .elements = 100000, .cost = 100000});
  const std::vector<Stage> stages = work.Stages(2);
  REQUIRE(stages.size() == 1);
  CHECK(stages[0].shared);
  REQUIRE(stages[0].tasks.size() == 3);
  REQUIRE(stages[0].tasks[0].size() == 2);
  CHECK(stages[0].tasks[0][0].work->cost == 20000);
  CHECK(stages[0].tasks[0][1].end == 100000);
  CHECK(stages[0].tasks[1].size() == 1);
}

TEST_CASE("small tasks become lanes, unless they wait for another task") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {kMany}, "x");
  std::vector<Variable*> variables;
  std::vector<Node*> updates;
  VariableStore store;
  for (int i = 0; i < 4; ++i) {
    variables.push_back(graph.AddVariable(fmt::format("v{}", i), DType::kFloat, {kMany},
                                          graph.Constant(Filled(kMany, 0), "zeros")));
    store.Set(variables.back()->name, Filled(kMany, 0));
    const Value scaled = graph.Add("Mul", {x, graph.Scalar(static_cast<float>(i + 1))});
    const Value squared = graph.Add("Mul", {scaled, scaled});
    const std::string name = fmt::format("update{}", i);
    updates.push_back(
        graph.AddNode("AssignAddVariableOp", {variables.back()->handle, squared}, {}, name));
    updates.push_back(graph.AddNode("AssignAddVariableOp", {variables.back()->handle, scaled}, {},
                                    name + "_again"));
  }
  updates[7]->AddControlInput(updates[0]);
  const ProgramSpec spec{&graph, {{x, {kMany}, false}}, {}, updates, {}};
  const BoundGraph bound = BindGraph(spec);
  const Schedule schedule = ScheduleGraph(bound, {.cut_rows = false, .cut_feeds = {false}});
  std::map<std::string, std::pair<int, int>> stages;
  for (const Node* const node : schedule.phases.back().nodes) {
    const NodeSchedule& of = schedule.nodes[static_cast<size_t>(node->id())];
    if (IsUpdate(*node)) stages[node->name()] = {of.stage, of.lane};
  }
  const int first = stages["update0"].first;
  CHECK(stages["update0_again"] == std::pair(first, 0));
  CHECK(stages["update1"] == std::pair(first, 1));
  CHECK(stages["update2_again"] == std::pair(first, 2));
  CHECK(stages["update3"].second == -1);
  CHECK(stages["update3_again"].first > first);
  for (const int threads : {1, 2, 3}) {
    CAPTURE(threads);
    for (const Variable* const variable : variables) store.Set(variable->name, Filled(kMany, 0));
    const auto program = MakeCpuBackend()->Compile(spec, {.threads = threads}, store);
    for (int run = 0; run < 20; ++run) {
      (void)program->Run(std::vector<StepFeeds>{{{Filled(kMany, 2)}}});
    }
    for (int i = 0; i < 4; ++i) {
      const auto scaled = static_cast<float>(2 * (i + 1));
      const Tensor& now = store.Get(variables[static_cast<size_t>(i)]->name);
      CHECK(now.data<float>()[0] == 20 * (scaled * scaled + scaled));
      CHECK(now.data<float>()[kMany - 1] == 20 * (scaled * scaled + scaled));
    }
  }
}

TEST_CASE("the error of the first task that throws is rethrown, for any number of threads") {
  for (const int threads : {1, 2, 3}) {
    ThreadTeam team(threads);
    for (int run = 0; run < 50; ++run) {
      const auto fail = [](int task, int /*thread*/) {
        if (task >= 3) throw Error(Code::kData, std::to_string(task));
      };
      CHECK_THROWS_WITH_AS(team.ForEach(8, fail), "3", Error);
    }
  }
}

}  // namespace tpuest
