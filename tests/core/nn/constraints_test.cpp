// Constraints on weights, by themselves and after three steps of an optimizer. The numbers are
// TensorFlow 2.15.1's.

#include "core/nn/constraints.h"

#include <doctest/doctest.h>

#include "core/nn/layers/layers.h"
#include "core/nn/optimizers/minimize.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

std::vector<float> Limited(const Constraint& constraint, const Shape& shape,
                           const std::vector<float>& weights) {
  Session session;
  CheckConstraint(constraint, shape);
  return session.Floats(Constrained(constraint, session.Const(shape, weights)));
}

std::string Refusal(const Constraint& constraint, const Shape& shape) {
  try {
    CheckConstraint(constraint, shape);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

const std::vector<float> kFirstWeights = {1, -2, 3, 0.5F, 4, -1};

TEST_CASE("norms are moved into their limits") {
  const Shape shape{2, 3};
  CHECK(Near(Limited(MaxNorm{2}, shape, kFirstWeights),
             {0.99999988, -0.89442718, 1.89736652, 0.49999994, 1.78885436, -0.63245553}));
  CHECK(Near(Limited(MaxNorm{1.5, int64_t{-1}}, shape, kFirstWeights),
             {0.40089184, -0.80178368, 1.20267558, 0.18057878, 1.44463027, -0.36115757}));
  CHECK(Near(Limited(MaxNorm{2, std::vector<int64_t>{}}, shape, kFirstWeights),
             {0.99999988, -2, 2, 0.49999991, 2, -0.99999988}));
  CHECK(Near(Limited(MinMaxNorm{1, 2, 0.5}, shape, kFirstWeights),
             {0.99999988, -1.44721353, 2.44868326, 0.49999994, 2.89442706, -0.81622773}));
  CHECK(Near(Limited(UnitNorm{}, shape, kFirstWeights),
             {0.89442706, -0.44721359, 0.94868326, 0.44721353, 0.89442718, -0.31622776}));
  CHECK(Near(Limited(UnitNorm{std::vector<int64_t>{0, 1}}, shape, kFirstWeights),
             {0.17888544, -0.35777089, 0.53665632, 0.08944272, 0.71554178, -0.17888544}));
  CHECK(Near(Limited(NonNeg{}, shape, kFirstWeights), {1, 0, 3, 0.5, 4, 0}));
}

TEST_CASE("a radial kernel has one value per ring, that of the diagonal") {
  std::vector<float> counted;
  for (int i = 0; i < 25; ++i) counted.push_back(static_cast<float>(i));
  const auto radial = [&](int64_t side) {
    return Limited(RadialConstraint{}, {side, side, 1, 1},
                   {counted.begin(), counted.begin() + side * side});
  };
  CHECK(radial(2) == std::vector<float>(4, 0));
  CHECK(radial(3) == std::vector<float>{4, 4, 4, 4, 0, 4, 4, 4, 4});
  CHECK(radial(4) ==
        std::vector<float>{15, 15, 15, 15, 15, 5, 5, 15, 15, 5, 5, 15, 15, 15, 15, 15});
  CHECK(radial(5) == std::vector<float>{18, 18, 18, 18, 18, 18, 12, 12, 12, 18, 18, 12, 6,
                                        12, 18, 18, 12, 12, 12, 18, 18, 18, 18, 18, 18});
}

TEST_CASE("limits that do not fit the weights are refused") {
  CHECK(Refusal(MaxNorm{2, int64_t{2}}, {2, 3}) ==
        "a norm over axis 2 does not fit weights [2,3], which have 2 axes");
  CHECK(Refusal(UnitNorm{std::vector<int64_t>{0, -2}}, {2, 3}) ==
        "the axes of a norm repeat an axis");
  CHECK(Refusal(MaxNorm{-1}, {2}) == "max_value is -1, expected at least 0");
  CHECK(Refusal(MinMaxNorm{2, 1}, {2}) == "min_value is 2, above the max_value 1");
  CHECK(Refusal(MinMaxNorm{0, 1, 1.5}, {2}) == "rate is 1.5, expected from 0 to 1");
  CHECK(Refusal(RadialConstraint{}, {3, 2, 1, 1}).find("[side, side, channels, filters]") !=
        std::string::npos);
  CHECK(Refusal(RadialConstraint{}, {1, 1, 4, 4}).find("a side of at least 2") !=
        std::string::npos);
}

// Two examples through a Dense layer with a constrained kernel, with mean squared error; three
// steps. Each replica has one of `replicas` equal parts of the batch.
struct LimitedRun {
  std::vector<float> kernel;
  std::vector<float> bias;
  std::vector<float> slot;
};

template <class Optimizer>
LimitedRun ThreeSteps(const Constraint& constraint, const Optimizer& optimizer, int replicas = 1,
                      int64_t accumulated = 1) {
  Session session(replicas);
  Graph& graph = session.graph();
  LayerContext context{.graph = graph, .training = true, .replicas = replicas};
  const Value x = graph.Placeholder(DType::kFloat, Shape{kUnknownDim, 3}, "x");
  const Value y = graph.Placeholder(DType::kFloat, Shape{kUnknownDim, 2}, "y");
  const Value predicted = Dense{
      .units = 2,
      .activity_regularizer = L2Regularizer{0.1},
      .kernel_constraint = constraint,
      .bias_constraint =
          NonNeg{}}.Apply(context, x);
  const Value loss = ops::AddV2(ops::Mean(ops::SquaredDifference(predicted, y), {0, 1}),
                                context.regularization_losses.at(0));
  MinimizeOptions options{.replicas = replicas, .constraints = context.constraints};
  Node* step = nullptr;
  if constexpr (std::is_same_v<Optimizer, KerasOptimizer>) {
    const OptimizerPart part{optimizer, {}, ""};
    step = MinimizeParts(loss, {&part, 1}, options).node;
  } else {
    step = Minimize(loss, optimizer, options).node;
  }
  session.Initialize();
  session.variables().Set("dense/kernel",
                          Tensor::Of<float>({3, 2}, {0.5F, -1, 1, 0.25F, -0.75F, 2}));
  session.variables().Set("dense/bias", Tensor::Of<float>({2}, {0.1F, -0.1F}));
  const Tensor both_x = Tensor::Of<float>({2, 3}, {1, 2, 3, 0.5F, -1, 2});
  const Tensor both_y = Tensor::Of<float>({2, 2}, {1, 0, 0, 1});
  std::vector<Tensor> xs = {both_x};
  std::vector<Tensor> ys = {both_y};
  if (replicas == 2) {
    xs = {Tensor::Of<float>({1, 3}, {1, 2, 3}), Tensor::Of<float>({1, 3}, {0.5F, -1, 2})};
    ys = {Tensor::Of<float>({1, 2}, {1, 0}), Tensor::Of<float>({1, 2}, {0, 1})};
  }
  session.Step(step, static_cast<int>(3 * accumulated), {{x, xs}, {y, ys}});
  return {session.Floats("dense/kernel"), session.Floats("dense/bias"), {}};
}

const KerasOptimizer kMomentum = SGD{.options = {.learning_rate = 0.1}, .momentum = 0.9};
const KerasOptimizer kAdam = Adam{.options = {.learning_rate = 0.1}};

TEST_CASE("three steps keep Keras' limits, each applied after its update") {
  const LimitedRun most = ThreeSteps(MaxNorm{1}, kMomentum);
  CHECK(Near(most.kernel, {0.5790535, -0.6827268, 0.2887198, -0.4697762, 0.03870069, -0.5596377},
             1e-5));
  CHECK(Near(most.bias, {0.4941334, 0}, 1e-5));
  CHECK(Near(ThreeSteps(MinMaxNorm{0.5, 1, 0.5}, kMomentum).kernel,
             {0.6190121, -1.023731, 0.3133864, -0.5442652, 0.005293193, -0.5293618}, 1e-5));
  CHECK(Near(ThreeSteps(NonNeg{}, kMomentum).kernel, {0.4798801, 0, 0.1771872, 0, 0, 0}, 1e-5));
  CHECK(Near(ThreeSteps(MaxNorm{1}, kAdam).kernel,
             {0.6577876, -0.6723961, 0.5194998, -0.1106353, -0.3317956, 0.6915954}, 1e-5));
  CHECK(Near(ThreeSteps(MinMaxNorm{0.5, 1, 0.5}, kAdam).kernel,
             {0.7023186, -0.7389234, 0.5853679, -0.07453477, -0.3814221, 0.8582369}, 1e-5));
  CHECK(Near(ThreeSteps(NonNeg{}, kAdam).kernel, {0.5552064, 0, 0.7147197, 0, 0, 1.699846}, 1e-5));
}

TEST_CASE("tf.train's optimizers keep limits, and groups of steps apply them once") {
  const AnyOptimizer plain = GradientDescentOptimizer{.learning_rate = 0.1};
  const AnyOptimizer grouped = GradientDescentOptimizer{
      .learning_rate = 0.1, .gradients = {.gradient_accumulation_steps = 2}};
  const Constraint half = MinMaxNorm{0.5, 1, 0.5};
  const LimitedRun once = ThreeSteps(half, plain);
  CHECK(ThreeSteps(half, grouped, 1, 2).kernel == once.kernel);
}

TEST_CASE("limits are the same for any number of replicas") {
  CHECK(Near(ThreeSteps(MaxNorm{1}, kMomentum, 2).kernel,
             {0.5790535, -0.6827268, 0.2887198, -0.4697762, 0.03870069, -0.5596377}, 1e-5));
}

TEST_CASE("variables that are not trained have no limits") {
  Session session;
  LayerContext context{.graph = session.graph(), .training = true};
  const Value x = session.Const({1, 2}, {1, 2});
  (void)Dense{.units = 1, .kernel_constraint = MaxNorm{}, .trainable = false}.Apply(context, x);
  CHECK(context.constraints.empty());
  (void)Dense{.units = 1, .kernel_constraint = MaxNorm{}}.Apply(context, x);
  CHECK(context.constraints.size() == 1);
}

}  // namespace
}  // namespace tpuest::nn
