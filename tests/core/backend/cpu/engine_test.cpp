// The engine's guarantees: any division of the work gives the same bits, parts are added in one
// tree, and reads return the values at the start of the step.

#include <doctest/doctest.h>

#include <cmath>

#include "core/backend/bind.h"
#include "core/backend/cpu/program.h"
#include "core/backend/schedule.h"
#include "tests/core/backend/tiny_ops.h"

namespace tpuest {
namespace {

// loss = sum(x * w * x) over the batch, w += sum over replicas of dloss/dw.
struct Model {
  OpRegistry registry{{tiny::Ops()}};
  Graph graph{registry};
  Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 3}, "x");
  Variable* w = graph.AddVariable("w", DType::kFloat, {}, graph.Scalar(0.5F));
  Value loss = graph.Add("Sum", {graph.Add("Mul", {graph.Add("Mul", {x, w->value}), x})});
  Value grad;
  Node* update;

  Model() {
    const Value xs[] = {w->value};
    grad = graph.Add("CrossReplicaSum", {std::get<Value>(Gradients(loss, xs)[0])});
    update = graph.AddNode("AssignAddVariableOp", {w->handle, grad});
  }
};

struct RunOptions {
  int64_t rows = 100;
  int replicas = 1;
  int threads = 1;
  bool cut = true;
};

struct Outcome {
  std::vector<float> losses;
  float w = 0;
  bool operator==(const Outcome&) const = default;
};

Tensor ReplicaNumbers(int64_t rows, int replica) {
  Tensor x(DType::kFloat, {rows, 3});
  for (int64_t i = 0; i < x.elements(); ++i) {
    x.data<float>()[i] = 0.01F * static_cast<float>((i * 7 + replica * 13) % 101) + 0.003F;
  }
  return x;
}

Outcome Train(const RunOptions& options, int steps = 3) {
  Model model;
  VariableStore variables;
  variables.Set("w", Tensor::Scalar(0.5F));
  const auto backend = MakeCpuBackend();
  const ProgramSpec spec{
      &model.graph, {{model.x, {options.rows, 3}, true}}, {model.loss}, {model.update}, {}};
  const auto program = backend->Compile(
      spec, {.replicas = options.replicas, .threads = options.threads, .cut_rows = options.cut},
      variables);
  StepFeeds feeds(1);
  for (int r = 0; r < options.replicas; ++r) feeds[0].push_back(ReplicaNumbers(options.rows, r));
  Outcome outcome;
  for (const StepResult& step :
       program->Run(std::vector<StepFeeds>(static_cast<size_t>(steps), feeds))) {
    for (const Tensor& loss : step.fetches[0]) outcome.losses.push_back(*loss.data<float>());
  }
  outcome.w = *variables.Get("w").data<float>();
  return outcome;
}

}  // namespace

TEST_CASE("threads do not change a bit") {
  for (const int replicas : {1, 8}) {
    for (const int64_t rows : {1, 64, 65, 130, 1000}) {
      const Outcome one = Train({.rows = rows, .replicas = replicas, .threads = 1});
      CHECK(one == Train({.rows = rows, .replicas = replicas, .threads = 2}));
      CHECK(one == Train({.rows = rows, .replicas = replicas, .threads = 3}));
    }
  }
}

TEST_CASE("blocks and replicas give the sum of the whole batch") {
  const Outcome whole = Train({.rows = 130, .cut = false}, 1);
  const Outcome blocks = Train({.rows = 130, .cut = true}, 1);
  CHECK(blocks.losses[0] == doctest::Approx(whole.losses[0]).epsilon(1e-5));
  CHECK(blocks.w == doctest::Approx(whole.w).epsilon(1e-5));
}

TEST_CASE("a variable's update is seen by the next step, not by its own") {
  const Outcome outcome = Train({.rows = 2}, 2);
  float squares = 0;
  const Tensor x = ReplicaNumbers(2, 0);
  for (const float v : x.values<float>()) squares += v * v;
  CHECK(outcome.losses[0] == doctest::Approx(0.5F * squares));
  CHECK(outcome.losses[1] == doctest::Approx((0.5F + squares) * squares));
}

TEST_CASE("a random slice depends on its position in the global batch") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 2}, "x");
  const Value noise = graph.Add("GlobalIndex", {graph.Add("Shape", {x})});
  const Value y = graph.Add("Mul", {noise, x});
  VariableStore variables;
  const auto program = MakeCpuBackend()->Compile({&graph, {{x, {100, 2}, true}}, {y}, {}, {}},
                                                 {.replicas = 2, .threads = 2}, variables);
  Tensor ones(DType::kFloat, {100, 2});
  std::fill_n(ones.data<float>(), 200, 1.0F);
  const StepResult result = program->Run(std::vector<StepFeeds>{{{ones, ones}}})[0];
  for (int r = 0; r < 2; ++r) {
    for (int64_t i = 0; i < 200; ++i) {
      REQUIRE(result.fetches[0][static_cast<size_t>(r)].data<float>()[i] ==
              static_cast<float>(r * 200 + i));
    }
  }
}

TEST_CASE("a block of large and heavy rows is computed in runs, whose sums make the block's") {
  constexpr int64_t kColumns = 65536;  // a row is a quarter of kRunBytes
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, kColumns}, "x");
  const Value rows = graph.Add("Heavy", {x});
  const Value doubled = graph.Add("Mul", {x, graph.Scalar(2.0F)});
  const Value sum = graph.Add("Sum", {doubled});
  const Value total = graph.Add("CrossReplicaSum", {graph.Add("Sum", {x})});
  for (const int threads : {1, 2}) {
    VariableStore variables;
    const auto program =
        MakeCpuBackend()->Compile({&graph, {{x, {40, kColumns}, true}}, {rows, sum, total}, {}, {}},
                                  {.replicas = 2, .threads = threads}, variables);
    Tensor ones(DType::kFloat, {40, kColumns});
    std::fill_n(ones.data<float>(), ones.elements(), 1.0F);
    const StepResult result = program->Run(std::vector<StepFeeds>{{{ones, ones}}})[0];
    std::vector<float> found;
    for (int64_t i = 0; i < 40; ++i) {
      found.push_back(result.fetches[0][1].data<float>()[i * kColumns]);
    }
    // Blocks of 14, 14 and 12 rows.
    const std::vector<float> block = {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2, 2};
    std::vector<float> expected = block;
    expected.insert(expected.end(), block.begin(), block.end());
    expected.resize(40, 4);
    CHECK(found == expected);
    CHECK(*result.fetches[1][0].data<float>() == 80 * kColumns);
    CHECK(*result.fetches[2][0].data<float>() == 80 * kColumns);
  }
}

TEST_CASE("an op that needs the whole batch waits for every block") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 1}, "x");
  const Value doubled = graph.Add("Mul", {x, graph.Scalar(2.0F)});
  const Value sum = graph.Add("WholeSum", {doubled});
  const Value y = graph.Add("Mul", {doubled, sum});
  VariableStore variables;
  const auto program = MakeCpuBackend()->Compile({&graph, {{x, {70, 1}, true}}, {y, sum}, {}, {}},
                                                 {.threads = 2}, variables);
  Tensor ones(DType::kFloat, {70, 1});
  std::fill_n(ones.data<float>(), 70, 1.0F);
  const StepResult result = program->Run(std::vector<StepFeeds>{{{ones}}})[0];
  CHECK(*result.fetches[1][0].data<float>() == 140);
  for (const float v : result.fetches[0][0].values<float>()) REQUIRE(v == 280);
}

TEST_CASE("a result that may share the memory of either of two inputs keeps them separate") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 1}, "x");
  const Value a = graph.Add("Mul", {x, graph.Scalar(2.0F)});
  const Value b = graph.Add("Mul", {x, graph.Scalar(3.0F)});
  const Value y = graph.Add("Mul", {a, b});
  VariableStore variables;
  const auto program =
      MakeCpuBackend()->Compile({&graph, {{x, {2, 1}, true}}, {y}, {}, {}}, {}, variables);
  const Tensor ones = Tensor::Of<float>({2, 1}, {1, 10});
  const StepResult result = program->Run(std::vector<StepFeeds>{{{ones}}})[0];
  CHECK(result.fetches[0][0].values<float>()[0] == 6);
  CHECK(result.fetches[0][0].values<float>()[1] == 600);
}

TEST_CASE("what is derived from a weight follows the weight") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 1}, "x");
  const Variable* const w = graph.AddVariable("w", DType::kFloat, {}, graph.Scalar(3.0F));
  const Value y = graph.Add("ScaleByDouble", {x, w->value});
  Node* const update = graph.AddNode("AssignAddVariableOp", {w->handle, graph.Scalar(1.0F)});
  VariableStore variables;
  variables.Set("w", Tensor::Scalar(3.0F));
  const auto program = MakeCpuBackend()->Compile({&graph, {{x, {65, 1}, true}}, {y}, {update}, {}},
                                                 {.threads = 2}, variables);
  Tensor ones(DType::kFloat, {65, 1});
  std::fill_n(ones.data<float>(), 65, 1.0F);
  const auto results = program->Run(std::vector<StepFeeds>{{{ones}}, {{ones}}});
  CHECK(results[0].fetches[0][0].data<float>()[64] == 6);
  CHECK(results[1].fetches[0][0].data<float>()[64] == 8);
}

TEST_CASE("a fetched variable is the one at the start of the step") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Variable* const w = graph.AddVariable("w", DType::kFloat, {}, graph.Scalar(1.0F));
  Node* const update = graph.AddNode("AssignAddVariableOp", {w->handle, graph.Scalar(1.0F)});
  const Value after = graph.Add("ReadVariableOp", {w->handle}, {{"dtype", DType::kFloat}});
  after.node->AddControlInput(update);
  VariableStore variables;
  variables.Set("w", Tensor::Scalar(1.0F));
  const auto program =
      MakeCpuBackend()->Compile({&graph, {}, {w->value, after}, {update}, {}}, {}, variables);
  const StepResult result = program->Run(std::vector<StepFeeds>{{}})[0];
  CHECK(*result.fetches[0][0].data<float>() == 1);
  CHECK(*result.fetches[1][0].data<float>() == 2);
}

TEST_CASE("a read before an update keeps its value beside one after it") {
  const OpRegistry registry{{tiny::Ops()}};
  Graph graph{registry};
  const Variable* const v =
      graph.AddVariable("v", DType::kFloat, {2}, graph.Constant(Tensor::Of<float>({2}, {0, 0})));
  const Value one = graph.Constant(Tensor::Of<float>({2}, {1, 1}));
  Node* const update = graph.AddNode("AssignAddVariableOp", {v->handle, one});
  const Value before = graph.Add("ReadVariableOp", {v->handle}, {{"dtype", DType::kFloat}});
  const Value after = graph.Add("ReadVariableOp", {v->handle}, {{"dtype", DType::kFloat}});
  after.node->AddControlInput(update);
  const Value product = graph.Add("Mul", {before, after});
  VariableStore variables;
  variables.Set("v", Tensor::Of<float>({2}, {2, 3}));
  const ProgramSpec spec{&graph, {}, {product, after}, {}, {}};
  const StepFeeds nothing;
  const auto results = MakeCpuBackend()->Compile(spec, {}, variables)->Run({&nothing, 1});
  CHECK(results[0].fetches[0][0].values<float>()[0] == 2 * 3);
  CHECK(results[0].fetches[0][0].values<float>()[1] == 3 * 4);
  CHECK(results[0].fetches[1][0].values<float>()[1] == 4);
}

TEST_CASE("an op whose record says that it is a view is read as the step found its variable") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Variable* const w = graph.AddVariable("w", DType::kFloat, {}, graph.Scalar(1.0F));
  const Value view = graph.Add("View", {graph.Add("View", {w->value})});
  Node* const update = graph.AddNode("AssignAddVariableOp", {w->handle, graph.Scalar(1.0F)});
  VariableStore variables;
  variables.Set("w", Tensor::Scalar(1.0F));
  const auto program = MakeCpuBackend()->Compile({&graph, {}, {view}, {update}, {}}, {}, variables);
  CHECK(*program->Run(std::vector<StepFeeds>(1))[0].fetches[0][0].data<float>() == 1);
  CHECK(*variables.Get("w").data<float>() == 2);
}

TEST_CASE("a view that its record does not tell of is a bug") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {2}, "x");
  const ProgramSpec spec{&graph, {{x, {2}, false}}, {graph.Add("UndeclaredView", {x})}, {}, {}};
  VariableStore variables;
  CHECK_THROWS_WITH((void)MakeCpuBackend()->Compile(spec, {}, variables),
                    doctest::Contains("UndeclaredView"));
}

TEST_CASE("a block goes back as soon as it went forward: a gradient does not wait for its loss") {
  Model model;
  const BoundGraph bound =
      BindGraph({&model.graph, {{model.x, {100, 3}, true}}, {model.loss}, {model.update}, {}});
  int block_phases = 0;
  for (const Phase& phase : ScheduleGraph(bound, {.cut_feeds = {true}}).phases) {
    block_phases += phase.level == Level::kBlock ? 1 : 0;
  }
  CHECK(block_phases == 1);
}

TEST_CASE("threads share a large update, each element once") {
  constexpr int64_t kElements = 200001;
  for (const int threads : {1, 2, 3}) {
    OpRegistry registry({tiny::Ops()});
    Graph graph(registry);
    Tensor step(DType::kFloat, {kElements});
    for (int64_t i = 0; i < kElements; ++i) step.data<float>()[i] = static_cast<float>(i);
    const Variable* const w = graph.AddVariable("w", DType::kFloat, {kElements}, {});
    Node* const update = graph.AddNode("AssignAddVariableOp", {w->handle, graph.Constant(step)});
    VariableStore variables;
    const auto program =
        MakeCpuBackend()->Compile({&graph, {}, {}, {update}, {}}, {.threads = threads}, variables);
    (void)program->Run(std::vector<StepFeeds>(2));
    const auto sum = variables.Get("w").values<float>();
    int64_t right = 0;
    for (int64_t i = 0; i < kElements; ++i) right += sum[i] == 2 * static_cast<float>(i) ? 1 : 0;
    CHECK(right == kElements);
  }
}

TEST_CASE("a loss that is not finite keeps the variables and ends the run") {
  Model model;
  VariableStore variables;
  variables.Set("w", Tensor::Scalar(0.5F));
  const auto program = MakeCpuBackend()->Compile(
      {&model.graph, {{model.x, {2, 3}, true}}, {model.loss}, {model.update}, model.loss}, {},
      variables);
  Tensor bad = ReplicaNumbers(2, 0);
  bad.data<float>()[1] = NAN;
  const StepFeeds good_feeds = {{ReplicaNumbers(2, 0)}};
  const StepFeeds bad_feeds = {{bad}};
  const auto results = program->Run(std::vector<StepFeeds>{bad_feeds, good_feeds});
  REQUIRE(results.size() == 1);
  CHECK_FALSE(results[0].applied);
  CHECK(*variables.Get("w").data<float>() == 0.5F);
}

TEST_CASE("an update that differs between replicas is refused") {
  OpRegistry registry({tiny::Ops()});
  Graph graph(registry);
  const Value x = graph.Placeholder(DType::kFloat, {kUnknownDim, 1}, "x");
  const Variable* const w = graph.AddVariable("w", DType::kFloat, {}, graph.Scalar(0.0F));
  Node* const update = graph.AddNode("AssignAddVariableOp", {w->handle, graph.Add("Sum", {x})});
  VariableStore variables;
  const ProgramSpec spec{&graph, {{x, {4, 1}, true}}, {}, {update}, {}};
  CHECK_THROWS_AS(std::ignore = MakeCpuBackend()->Compile(spec, {.replicas = 2}, variables), Error);
  CHECK_NOTHROW(std::ignore = MakeCpuBackend()->Compile(spec, {.replicas = 1}, variables));
}

}  // namespace tpuest
