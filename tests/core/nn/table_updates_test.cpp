// Steps of a table [4, 2] that starts as [[.1, .2], [.3, -.4], [.5, .6], [-.7, .8]] and is looked
// up at rows 1, 3 and 1, with the gradients (.5, -1), (.25, .5) and (1, 2), at a rate of .1. The
// expected values are in tests/testdata/table_steps.txt, which make_table_steps.py writes.

#include "core/nn/optimizers/table_updates.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "core/nn/columns/column_values.h"
#include "core/nn/optimizers/minimize.h"
#include "core/nn/optimizers/table_training.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

const std::vector<float> kTable = {.1F, .2F, .3F, -.4F, .5F, .6F, -.7F, .8F};

// The rows that one replica looks up, with their gradients.
struct Lookups {
  std::vector<int32_t> ids;
  std::vector<float> gradients;
};

const Lookups kStep = {{1, 3, 1}, {.5F, -1, .25F, .5F, 1, 2}};

// A table that steps train, beside a weight "b" that gradient descent at rate 1 lowers by the sum
// over replicas of `of_weight`.
class Trainee {
 public:
  Trainee(const TableOptimizer& optimizer, const std::vector<float>& table = kTable,
          int columns = 2, int replicas = 1, TableTraining training = {}, int lookups = 3)
      : session_(replicas), replicas_(replicas) {
    const Shape shape({static_cast<int64_t>(table.size()) / columns, columns});
    const Variable* const w = session_.AddVariable("t", shape, table);
    const Variable* const b = session_.AddVariable("b", Shape(), {0});
    Graph& graph = session_.graph();
    ids_ = graph.Placeholder(DType::kInt32, Shape({lookups}), "ids");
    gradients_ = graph.Placeholder(DType::kFloat, Shape({lookups, columns}), "gradients");
    const Value looked_up = ops::ResourceGather(w->handle, ids_);
    // Sums the replicas' losses, as reduction SUM does.
    const Value loss = ops::AddV2(ops::Sum(ops::Mul(looked_up, gradients_)), b->value);
    if (training.tables.empty()) training.tables = {{"t", optimizer, std::nullopt}};
    train_ = Minimize(loss, GradientDescentOptimizer{.learning_rate = 1.0},
                      {.replicas = replicas, .sums_losses = true, .tables = training})
                 .node;
    session_.Initialize();
  }

  void Step(const std::vector<Lookups>& of_replicas) {
    Feed ids{ids_, {}};
    Feed gradients{gradients_, {}};
    for (const Lookups& lookups : of_replicas) {
      const auto n = static_cast<int64_t>(lookups.ids.size());
      const auto size = static_cast<int64_t>(lookups.gradients.size());
      ids.replicas.push_back(Tensor::Of<int32_t>(Shape({n}), lookups.ids));
      gradients.replicas.push_back(Tensor::Of<float>(Shape({n, size / n}), lookups.gradients));
    }
    session_.Step(train_, 1, {ids, gradients});
  }
  void Step() { Step(std::vector<Lookups>(static_cast<size_t>(replicas_), kStep)); }

  std::vector<float> operator[](const std::string& variable) { return session_.Floats(variable); }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : session_.variables().tensors()) names.push_back(name);
    return names;
  }

 private:
  Session session_;
  int replicas_;
  Value ids_;
  Value gradients_;
  Node* train_ = nullptr;
};

// The weights after each step, by "case: step".
std::map<std::string, std::vector<double>> GoldenSteps() {
  std::ifstream file(SOURCE_ROOT "/tests/testdata/table_steps.txt");
  std::map<std::string, std::vector<double>> steps;
  for (std::string line; std::getline(file, line);) {
    const size_t end = line.rfind(':');
    std::istringstream numbers(line.substr(end + 1));
    std::vector<double>& weights = steps[line.substr(0, end)];
    for (double weight = 0; numbers >> weight;) weights.push_back(weight);
  }
  return steps;
}

AdagradParameters Adagrad() { return {.learning_rate = .1}; }

AdagradParameters Adagrad(const RowOptions& rows) { return {.learning_rate = .1, .rows = rows}; }

FtrlParameters Regularized() {
  return {.learning_rate = .1,
          .proximal = {.l1_regularization_strength = .1, .l2_regularization_strength = .2},
          .beta = .5};
}

std::map<std::string, TableOptimizer> Cases() {
  const ProximalOptions proximal{.l1_regularization_strength = .1,
                                 .l2_regularization_strength = .2};
  const RowOptions decay{.weight_decay_factor = .1};
  RowOptions times_rate = decay;
  times_rate.multiply_weight_decay_factor_by_learning_rate = true;
  return {{"SGD", StochasticGradientDescentParameters{.learning_rate = .1}},
          {"Adagrad", Adagrad()},
          {"Adagrad clip_gradient", Adagrad({.clip_gradient_min = -.6, .clip_gradient_max = .6})},
          {"Adagrad weight_decay", Adagrad(decay)},
          {"Adagrad weight_decay times rate", Adagrad(times_rate)},
          {"Adagrad clip_weight", Adagrad({.clip_weight_min = -.5, .clip_weight_max = .25})},
          {"Adam", AdamParameters{.learning_rate = .1}},
          {"Adam inside", AdamParameters{.learning_rate = .1, .epsilon = .01}},
          {"Adam outside",
           AdamParameters{.learning_rate = .1, .epsilon = .01, .sum_inside_sqrt = false}},
          {"Ftrl", FtrlParameters{.learning_rate = .1}},
          {"Ftrl regularized", Regularized()},
          {"Momentum", MomentumParameters{.learning_rate = .1, .momentum = .9}},
          {"Momentum nesterov",
           MomentumParameters{.learning_rate = .1, .momentum = .9, .use_nesterov = true}},
          {"RMSProp",
           RMSPropParameters{.learning_rate = .1, .rho = .9, .momentum = .5, .epsilon = 1e-3}},
          {"ProximalAdagrad", ProximalAdagradParameters{.learning_rate = .1, .proximal = proximal}},
          {"AdagradMomentum", AdagradMomentumParameters{.learning_rate = .1, .momentum = .9}},
          {"ProximalYogi", ProximalYogiParameters{.learning_rate = .1}}};
}

// The elements of rows 0 and 2, which are never looked up.
std::vector<float> Untouched(const std::vector<float>& table) {
  return {table[0], table[1], table[4], table[5]};
}

TEST_CASE("two steps of each optimizer match the recorded ones, and leave other rows unchanged") {
  const std::map<std::string, std::vector<double>> golden = GoldenSteps();
  const std::map<std::string, TableOptimizer> cases = Cases();
  CHECK(golden.size() == 2 * cases.size());
  for (const auto& named : cases) {
    const std::string& name = named.first;
    const TableOptimizer& optimizer = named.second;
    CAPTURE(name);
    Trainee table(optimizer);
    for (const std::string_view step : {"1", "2"}) {
      table.Step();
      CHECK(Near(table["t"], golden.at(fmt::format("{}: {}", name, step))));
    }
    CHECK(Untouched(table["t"]) == Untouched(kTable));
    for (const TableSlot& slot : SlotsOf(optimizer)) {
      const auto initial = static_cast<float>(slot.initial);
      CHECK(Untouched(table[fmt::format("t/{}", slot.ending)]) == std::vector<float>(4, initial));
    }
    CHECK(table["b"] == std::vector<float>{-2});
  }
}

TEST_CASE("slots have TensorFlow's names beside their table") {
  const auto names = [](const TableOptimizer& optimizer) {
    std::vector<std::string> slots;
    for (const std::string& name : Trainee(optimizer).Names()) {
      if (name.starts_with("t/")) slots.push_back(name);
    }
    return slots;
  };
  using Names = std::vector<std::string>;
  CHECK(names(StochasticGradientDescentParameters{.learning_rate = 1}) == Names{});
  CHECK(names(Adagrad()) == Names{"t/Adagrad"});
  CHECK(names(AdagradMomentumParameters{}) ==
        Names{"t/AdagradMomentum/Accumulator", "t/AdagradMomentum/Momentum"});
  CHECK(names(ProximalAdagradParameters{}) == Names{"t/ProximalAdagrad"});
  CHECK(names(AdamParameters{}) == Names{"t/Adam/m", "t/Adam/v"});
  CHECK(names(FtrlParameters{}) == Names{"t/Ftrl", "t/Ftrl_1"});
  CHECK(names(ProximalYogiParameters{}) == Names{"t/ProximalYogi", "t/ProximalYogi_1"});
  CHECK(names(MomentumParameters{}) == Names{"t/Momentum"});
  CHECK(names(RMSPropParameters{}) == Names{"t/RMSProp/mom", "t/RMSProp/ms"});
}

TEST_CASE("Ftrl with its linear slot times the rate ends at the same weights") {
  FtrlParameters times_rate = Regularized();
  times_rate.multiply_linear_by_learning_rate = true;
  Trainee plain(Regularized());
  Trainee other(times_rate);
  for (int step = 0; step < 2; ++step) {
    plain.Step();
    other.Step();
  }
  const std::vector<float> weights = plain["t"];
  CHECK(Near(other["t"], {weights.begin(), weights.end()}));
  // A rate of 0 is not used as a divisor.
  times_rate.learning_rate = 0;
  times_rate.beta = 0;
  Trainee still(times_rate);
  still.Step();
  CHECK(std::isfinite(still["t"][2]));
}

TEST_CASE("Adam that is not lazy also updates rows that a step does not look up") {
  const Lookups only_row_1 = {{1, 1, 1}, {.5F, -1, 0, 0, 1, 2}};
  AdamParameters adam{.learning_rate = .1};
  Trainee lazy(adam);
  adam.lazy_adam = false;
  adam.rows.clip_weight_min = -1.1;
  Trainee other(adam);
  for (Trainee* const table : {&lazy, &other}) {
    table->Step();
    table->Step({only_row_1});
  }
  CHECK(Near({lazy["t"][6], lazy["t"][7]}, {-1.0162299, .4837701}));
  // Row 3 is not looked up, so nothing clips it.
  CHECK(Near({other["t"][6], other["t"][7]}, {-1.3009791, .1990208}));
  CHECK(Near({other["t"][2], other["t"][3]}, {-.4411919, -1.1}));
  CHECK(Untouched(other["t"]) == Untouched(kTable));
}

TEST_CASE("Adam with the correction of its first steps in the rate is tf.train's") {
  AdamParameters adam{.learning_rate = .1, .epsilon = 1e-7, .sum_inside_sqrt = false};
  const Formula corrected{"0.1 * sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))"};
  const std::vector<float> two_rows = {.3F, -.4F, -.7F, .8F};
  Trainee table(adam, two_rows, 2, 1, {.tables = {{"t", adam, corrected}}});
  Session session;
  const Variable* const w = session.AddVariable("w", Shape({2, 2}), two_rows);
  const Value factors = session.Const(Shape({2, 2}), {1.5F, 1, .25F, .5F});
  const TrainOp train = Minimize(ops::Sum(ops::Mul(w->value, factors)),
                                 AdamOptimizer{.learning_rate = .1, .epsilon = 1e-7}, {});
  session.Initialize();
  for (int step = 0; step < 20; ++step) {
    table.Step({{{0, 1, 0}, {.5F, -1, .25F, .5F, 1, 2}}});
    session.Step(train.node);
  }
  const std::vector<float> expected = session.Floats("w");
  CHECK(Near(table["t"], {expected.begin(), expected.end()}, 1e-5));
}

// Two replicas of four rows with one number each; their lookups share rows 1 and 2.
TEST_CASE("without accumulation a row's owner updates it before the other replicas") {
  const std::vector<Lookups> collide = {{{0, 1, 2}, {1.5F, 2.5F, 1}}, {{1, 2, 3}, {.5F, .5F, 0}}};
  AdagradParameters adagrad{.learning_rate = .12};
  Trainee summed(adagrad, {0, 0, 0, 0}, 1, 2);
  summed.Step(collide);
  CHECK(Near(summed["t"], {-.1174191, -.1193388, -.1174191, 0}));
  adagrad.rows.use_gradient_accumulation = false;
  Trainee in_turn(adagrad, {0, 0, 0, 0}, 1, 2);
  in_turn.Step(collide);
  CHECK(Near(in_turn["t"], {-.1174191, -.2181934, -.1660553, 0}));
  CHECK(Near({in_turn["t/Adagrad"][1]}, {6.6}));
  Trainee apart(adagrad, {0, 0, 0, 0}, 1, 2);
  apart.Step({{{0, 0, 0}, {6, 0, 0}}, {{1, 1, 1}, {4, 0, 0}}});
  CHECK(Near(apart["t"], {-.1198336797537491, -.11962674870701442, 0, 0}));
}

TEST_CASE("without accumulation three replicas follow the owner in their order") {
  const std::vector<Lookups> collide = {
      {{1, 1, 1}, {1, 0, 0}}, {{1, 1, 1}, {2, 0, 0}}, {{1, 1, 1}, {4, 0, 0}}};
  MomentumParameters momentum{.learning_rate = 1, .momentum = .5};
  momentum.rows.use_gradient_accumulation = false;
  Trainee table(momentum, {0, 0, 0, 0}, 1, 3);
  table.Step(collide);
  // 2, then 1, then 4: m = 2, 2, 5.
  CHECK(table["t/Momentum"] == std::vector<float>{0, 5, 0, 0});
  CHECK(table["t"] == std::vector<float>{0, -9, 0, 0});
}

TEST_CASE("the sum over replicas moves the rows that some replica looked up") {
  Trainee table(Adagrad(), kTable, 2, 2);
  table.Step({{{1, 1, 1}, {.5F, -1, 0, 0, 0, 0}}, {{3, 1, 3}, {.25F, .5F, 1, 2, 0, 0}}});
  CHECK(Near(table["t"], GoldenSteps().at("Adagrad: 1")));
  CHECK(Untouched(table["t"]) == Untouched(kTable));
  CHECK(Untouched(table["t/Adagrad"]) == std::vector<float>(4, .1F));
}

// The bits of CrossReplicaSum over whole tensors: 2e8 + (6 + 6), where adding the replicas one
// after the other gives (2e8 + 6) + 6 = 2e8.
TEST_CASE("a row's gradients are added in the tree over the replicas that have it") {
  std::vector<Lookups> of_replicas;
  for (const float x : {1e8F, 1.0F, 3.0F, 3.0F, 0.0F})
    of_replicas.push_back({{0, 2, 0}, {x, 1, x}});
  of_replicas[1].ids = {1, 2, 1};  // row 0 is not looked up there
  const StochasticGradientDescentParameters sgd{.learning_rate = 1};
  Trainee table(sgd, {0, 0, 0, 0}, 1, 5);
  table.Step(of_replicas);
  CHECK(table["t"] == std::vector<float>{-200000016, -2, -5, 0});
}

TEST_CASE(
    "the multiplier applies only to the tables' gradients, at the step before it is counted") {
  const StochasticGradientDescentParameters sgd{.learning_rate = .1};
  const Formula multiplier{"(global_step + 1) * 3"};
  Trainee plain(sgd);
  Trainee table(sgd, kTable, 2, 1, {.tables = {{"t", sgd, {}}}, .gradient_multiplier = multiplier});
  for (const double factor : {3.0, 6.0}) {
    const std::vector<float> before = table["t"];
    plain.Step();
    table.Step();
    const std::vector<double> step = {0, 0, -.15, -.1, 0, 0, -.025, -.05};
    std::vector<double> expected;
    for (size_t i = 0; i < step.size(); ++i) expected.push_back(before[i] + factor * step[i]);
    CHECK(Near(table["t"], expected));
    CHECK(table["b"] == plain["b"]);
  }
}

TEST_CASE("pipelined, a step's gradients move the table at the end of the next step") {
  const std::map<std::string, std::vector<double>> golden = GoldenSteps();
  for (const std::string name : {"Adagrad", "Adam", "Ftrl regularized", "Momentum nesterov"}) {
    CAPTURE(name);
    const TableOptimizer optimizer = Cases().at(name);
    Trainee table(optimizer, kTable, 2, 1, {.tables = {{"t", optimizer, {}}}, .pipelined = true});
    table.Step();
    CHECK(table["t"] == kTable);
    CHECK(table["b"] == std::vector<float>{-1});
    CHECK(table["t/pending_gradient"] == std::vector<float>{0, 0, 1.5F, 1, 0, 0, .25F, .5F});
    CHECK(table["t/pending_rows"] == std::vector<float>{0, 1, 0, 1});
    for (const std::string_view step : {"1", "2"}) {
      table.Step();
      CHECK(Near(table["t"], golden.at(fmt::format("{}: {}", name, step))));
    }
    CHECK(Untouched(table["t"]) == Untouched(kTable));
  }
}

TEST_CASE("pending gradients update the table at the rate of their own step") {
  const StochasticGradientDescentParameters sgd{.learning_rate = .1};
  const Formula rate{"1 + step"};
  Trainee table(sgd, std::vector<float>(8, 0), 2, 2,
                {.tables = {{"t", sgd, rate}}, .pipelined = true});
  for (const double expected : {0.0, -1.0, -3.0, -6.0}) {
    table.Step({{{1, 1, 1}, {.5F, 0, 0, 0, 0, 0}}, {{1, 1, 1}, {.5F, 0, 0, 0, 0, 0}}});
    CHECK(Near({table["t"][2]}, {expected}));
  }
}

TEST_CASE("a table's own rate takes precedence over its optimizer's") {
  const StochasticGradientDescentParameters sgd{.learning_rate = .1};
  Trainee plain(sgd, std::vector<float>(8, 0));
  Trainee twice(sgd, std::vector<float>(8, 0), 2, 1,
                {.tables = {{"t", sgd, Formula{"0.2 + 0.1 * step"}}}});
  plain.Step();
  twice.Step();
  for (size_t i = 0; i < 8; ++i) CHECK(twice["t"][i] == 2 * plain["t"][i]);
  const std::vector<float> before = twice["t"];
  twice.Step();
  CHECK(Near({twice["t"][2] - before[2]}, {-.3 * 1.5}));
}

TEST_CASE("FrequencyEstimator counts the steps between lookups, whatever the gradients") {
  const FrequencyEstimatorParameters frequency{
      .tau = .5, .max_delta = 8, .outlier_threshold = 2, .weight_exponent = 1};
  Trainee table(frequency, std::vector<float>(2, 8), 1, 1,
                {.tables = {{"t", frequency, Formula{"step"}}}}, 1);
  const auto look_up = [&](int32_t row) { table.Step({{{row}, {100}}}); };
  for (int step = 0; step < 4; ++step) look_up(0);  // steps 0 to 3
  // Row 0: the distances 0, 1, 1, 1 enter 8 with factor 1/2: 4, 2.5, 1.75, 1.375.
  CHECK(table["t"] == std::vector<float>{1.375, 8});
  CHECK(table["t/FrequencyEstimator"] == std::vector<float>{3, 0});
  look_up(1);  // step 4: a distance of 4 enters 8 with factor 1/2
  CHECK(table["t"][1] == 6);
  look_up(1);
  look_up(0);  // step 6: 3 is more than twice 1.375, so it replaces the row
  CHECK(table["t"][0] == 3);
}

// The lookups of three examples in the table [1, 2, 3]: ids 2 and 1 with weights 0.5 and 1; 1 and
// 0, the latter with weight 0; none.
struct WeighedLookup {
  explicit WeighedLookup(const std::string& combiner, bool present_rows = true) {
    table = session.AddVariable("t", Shape({3, 1}), {1, 2, 3});
    Graph& graph = session.graph();
    const Shape lists({3, 2});
    Categories categories{.ids = graph.Constant(Tensor::Of<int64_t>(lists, {2, 1, 1, 0, -1, -1})),
                          .weights = session.Const(lists, {.5F, 1, .2F, 0, 1, 1}),
                          .buckets = 3};
    categories.there = ops::GreaterEqual(categories.ids, graph.Scalar<int64_t>(0));
    rows = CombinedRows(*table, categories,
                        {.combiner = combiner, .trains = true, .present_rows = present_rows});
  }

  Session session;
  const Variable* table = nullptr;
  Value rows;
};

TEST_CASE("rows are weighed and combined as TensorFlow's, and no value gives zeros") {
  const auto combined = [](const std::string& combiner) {
    WeighedLookup lookup(combiner);
    lookup.session.Initialize();
    return lookup.session.Floats(lookup.rows);
  };
  CHECK(Near(combined("mean"), {7.0 / 3, 2, 0}));
  CHECK(Near(combined("sum"), {3.5, .4, 0}));
  CHECK(Near(combined("sqrtn"), {3.5 / std::sqrt(1.25), 2, 0}));
}

TEST_CASE("an example without a value touches no row of a table") {
  AdagradParameters decays = Adagrad({.weight_decay_factor = .5});
  const auto row_0 = [&](bool present_rows) {
    WeighedLookup lookup("mean", present_rows);
    const Variable* const b = lookup.session.AddVariable("b", Shape(), {0});
    const TrainOp train = Minimize(ops::AddV2(ops::Sum(lookup.rows), b->value),
                                   GradientDescentOptimizer{.learning_rate = 1.0},
                                   {.tables = {.tables = {{"t", decays, {}}}}});
    lookup.session.Initialize();
    lookup.session.Step(train.node);
    CHECK(lookup.session.Floats("t")[1] < 1);
    return lookup.session.Floats("t")[0];
  };
  CHECK(row_0(true) == 1);
  // As core columns do, TensorFlow fills empty rows with row 0.
  CHECK(row_0(false) == .5F);
}

TEST_CASE("the first values of every example can be selected") {
  Session session;
  Graph& graph = session.graph();
  const Shape lists({2, 3});
  const Categories categories{
      .ids = graph.Constant(Tensor::Of<int64_t>(lists, {0, 1, 2, 3, 4, -1})),
      .weights = session.Const(lists, {1, 2, 3, 4, 5, 6})};
  const Categories first = FirstOf(categories, 2);
  CHECK(session.Floats(first.ids) == std::vector<float>{0, 1, 3, 4});
  CHECK(session.Floats(first.weights) == std::vector<float>{1, 2, 4, 5});
  CHECK_FALSE(first.there.valid());
  CHECK(FirstOf(categories, 3).ids == categories.ids);
}

TEST_CASE("invalid arguments are refused in TensorFlow's words") {
  const auto refused = [](const TableOptimizer& optimizer) {
    try {
      CheckOptions(optimizer);
    } catch (const Error& error) {
      return std::string(error.message());
    }
    return std::string();
  };
  for (const auto& [name, optimizer] : Cases()) CHECK(refused(optimizer).empty());
  const ProximalOptions l1{.l1_regularization_strength = -1};
  const ProximalOptions l2{.l2_regularization_strength = -.5};
  CHECK(refused(Adagrad({.use_gradient_accumulation = false, .clip_gradient_max = 1})) ==
        "When using gradient clipping limits, gradient  accumulation must be enabled.");
  CHECK(refused(AdagradParameters{.initial_accumulator = 0}) ==
        "Adagrad initial_accumulator must be greater than zero. Received: 0.");
  CHECK(refused(ProximalAdagradParameters{.initial_accumulator = -1}) ==
        "Adagrad initial_accumulator must be positive. Received: -1.");
  CHECK(refused(ProximalAdagradParameters{.proximal = l1}) ==
        "l1_regularization_strength must be greater than or equal to 0. got -1.");
  CHECK(refused(AdagradMomentumParameters{.epsilon = 0}) ==
        "Adagrad momentum: epsilon must be positive");
  CHECK(refused(AdagradMomentumParameters{.exponent = 0}) ==
        "Adagrad momentum: Precondition exponent must >0");
  CHECK(refused(AdamParameters{.beta1 = 1}) == "beta1 must be between 0. and 1; got 1.");
  CHECK(refused(AdamParameters{.beta2 = -.5}) == "beta2 must be between 0. and 1; got -0.5.");
  CHECK(refused(AdamParameters{.epsilon = 0}) == "epsilon must be positive; got 0.");
  CHECK(refused(AdamParameters{.lazy_adam = false, .rows = {.use_gradient_accumulation = false}}) ==
        "When disabling Lazy Adam, gradient accumulation must be used.");
  CHECK(refused(FtrlParameters{.learning_rate_power = .5}) ==
        "learning_rate_power must be less than or equal to 0. got 0.5.");
  CHECK(refused(FtrlParameters{.initial_accumulator_value = -1}) ==
        "initial_accumulator_value must be greater than or equal to 0. got -1.");
  CHECK(refused(FtrlParameters{.proximal = l2}) ==
        "l2_regularization_strength must be greater than or equal to 0. got -0.5.");
  CHECK(refused(FtrlParameters{.initial_accumulator_value = 0}) ==
        "initial_accumulator_value is 0, which a TPU does not accept");
  CHECK(refused(FtrlParameters{.initial_accumulator_value = 0, .allow_zero_accumulator = true})
            .empty());
  CHECK(refused(ProximalYogiParameters{.epsilon = 0}) == "epsilon must be positive; got 0.");
}

}  // namespace
}  // namespace tpuest::nn
