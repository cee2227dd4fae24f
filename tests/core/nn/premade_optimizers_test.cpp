// PremadeParts of a model that optimizers of tf.train train.

#include "core/nn/optimizers/premade_optimizers.h"

#include <doctest/doctest.h>

#include "core/nn/optimizers/minimize.h"
#include "core/ops/elementwise.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

// The sum of two variables, two steps.
class PremadeParts {
 public:
  PremadeParts(const PremadeOptimizer& dnn, const PremadeOptimizer& linear,
               const OptimizerNames& names) {
    const Variable* const a = session_.AddVariable("dnn/a", {}, {1});
    const Variable* const b = session_.AddVariable("linear/b", {}, {2});
    const OptimizerPart parts[] = {{ByFamily(dnn), {}, "dnn", names},
                                   {ByFamily(linear), {}, "linear", names}};
    const TrainOp op = MinimizeParts(ops::AddV2(a->value, b->value), parts, {});
    session_.Initialize();
    session_.Step(op.node, 2);
  }
  float operator[](const std::string& variable) { return session_.Floats(variable)[0]; }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : session_.variables().tensors()) names.push_back(name);
    return names;
  }

 private:
  Session session_;
};

TEST_CASE("tf.train's optimizers train parts, with slots where version 1 has them") {
  PremadeParts parts(AdamOptimizer{}, MomentumOptimizer{.learning_rate = 0.5, .momentum = 0.5},
                     {.slot_scope = "part_0", .power_beginning = "head/"});
  CHECK(parts["linear/b"] == 2 - 0.5F - 0.75F);
  CHECK(parts["dnn/a"] == doctest::Approx(1 - 2 * 0.001));
  CHECK(parts["global_step"] == 2);
  CHECK(parts.Names() == std::vector<std::string>{"dnn/a", "dnn/a/part_0/Adam",
                                                  "dnn/a/part_0/Adam_1", "global_step",
                                                  "head/beta1_power", "head/beta2_power",
                                                  "linear/b", "linear/b/part_0/Momentum"});
}

TEST_CASE("a second Adam has powers of its own") {
  PremadeParts parts(AdamOptimizer{}, AdamOptimizer{.beta1 = 0.5}, {.power_beginning = "head/"});
  CHECK(parts["head/beta1_power"] == doctest::Approx(0.9 * 0.9 * 0.9));
  CHECK(parts["head/beta1_power_1"] == doctest::Approx(0.125));
}

TEST_CASE("both families train one model") {
  PremadeParts parts(SGD{.options = {.learning_rate = 0.25}},
                     GradientDescentOptimizer{.learning_rate = 0.5}, {});
  CHECK(parts["dnn/a"] == 1 - 2 * 0.25F);
  CHECK(parts["linear/b"] == 2 - 2 * 0.5F);
}

TEST_CASE("a part's gradients are clipped by their own norm") {
  PremadeParts parts(
      GradientDescentOptimizer{.learning_rate = 1.0, .gradients = {.clip_by_global_norm = 0.25}},
      GradientDescentOptimizer{.learning_rate = 1.0}, {});
  CHECK(parts["dnn/a"] == doctest::Approx(1 - 2 * 0.25));
  CHECK(parts["linear/b"] == 0);
}

// An ExponentialMovingAverage in an optimizer's apply_gradients averages the variables of that
// optimizer.
TEST_CASE("each optimizer of a model averages the variables that it trains") {
  const ExponentialMovingAverage average{.decay = 0.5};
  const GradientDescentOptimizer averaging{.learning_rate = 1.0,
                                           .gradients = {.exponential_moving_average = average}};
  const GradientDescentOptimizer plain{.learning_rate = 1.0};
  PremadeParts parts(plain, averaging, {});
  CHECK(parts["linear/b/ExponentialMovingAverage"] == doctest::Approx(2 - 1.25));
  CHECK(parts.Names() == std::vector<std::string>{"dnn/a", "global_step", "linear/b",
                                                  "linear/b/ExponentialMovingAverage"});
  PremadeParts both(averaging, averaging, {});
  CHECK(both["dnn/a/ExponentialMovingAverage"] == doctest::Approx(1 - 1.25));
  CHECK(both["linear/b/ExponentialMovingAverage"] == doctest::Approx(2 - 1.25));
}

// DNNLinearCombinedClassifier's train_op increments global_step after its optimizers' minimize.
TEST_CASE("an average of a model of several optimizers counts the steps before its own") {
  const ExponentialMovingAverage average{.decay = 0.5, .num_updates = "global_step"};
  const GradientDescentOptimizer averaging{.learning_rate = 1.0,
                                           .gradients = {.exponential_moving_average = average}};
  const GradientDescentOptimizer plain{.learning_rate = 1.0};
  PremadeParts parts(plain, averaging, {});
  // 1/10 of the shadow stays, then 2/11: 2, 1.1, 0.2.
  CHECK(parts["linear/b/ExponentialMovingAverage"] == doctest::Approx(0.2));
}

}  // namespace
}  // namespace tpuest::nn
