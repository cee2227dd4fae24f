// Three steps on f(w) = sum a w^2 / 2 with a = (1, 2, 3), w = (1, -2, 0.5), with the numbers of
// tf.train (TensorFlow 2.15); LARS and AdamWeightDecay by their formulas in double precision.

#include "core/nn/optimizers/optimizers.h"

#include <doctest/doctest.h>

#include "core/nn/optimizers/minimize.h"
#include "core/nn/optimizers/optimizer_updates.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

Value Bowl(Session& session, Value w) {
  const Value a = session.Const({3}, {1, 2, 3});
  return ops::Mul(ops::Sum(ops::Mul(a, ops::Square(w))), 0.5);
}

// Variables after `steps` steps.
class Trained {
 public:
  explicit Trained(const AnyOptimizer& optimizer, int steps = 3) {
    const Variable* const w = session_.AddVariable("w", {3}, {1, -2, 0.5F});
    const TrainOp op = Minimize(Bowl(session_, w->value), optimizer, {});
    session_.Initialize();
    session_.Step(op.node, steps);
  }
  std::vector<float> operator[](const std::string& variable) { return session_.Floats(variable); }
  bool Has(const std::string& variable) { return session_.variables().Has(variable); }
  size_t variables() { return session_.variables().tensors().size(); }

 private:
  Session session_;
};

TEST_CASE("gradient descent") {
  Trained after(GradientDescentOptimizer{.learning_rate = 0.1});
  CHECK(Near(after["w"], {0.728999972, -1.02399993, 0.171499997}));
  CHECK(after["global_step"] == std::vector<float>{3});
  CHECK(after.variables() == 2);
}

// w = (1, -2), f = sum (w - 3)^2, rate 0.1, five steps; tf.train.ExponentialMovingAverage(0.9) with
// ema.apply() after the train_op.
TEST_CASE("moving averages are TensorFlow's, with and without num_updates") {
  const auto averages = [](const std::optional<std::string>& num_updates, int steps) {
    Session session;
    const Variable* const w = session.AddVariable("w", {2}, {1, -2});
    GradientDescentOptimizer optimizer{.learning_rate = 0.1};
    optimizer.gradients.exponential_moving_average =
        ExponentialMovingAverage{.decay = 0.9, .num_updates = num_updates};
    const Value loss = ops::Sum(ops::Square(ops::Sub(w->value, 3.0)));
    const TrainOp op = Minimize(loss, optimizer, {});
    session.Initialize();
    CHECK(session.Floats("w/ExponentialMovingAverage") == std::vector<float>{1, -2});
    session.Step(op.node, steps);
    return session.Floats("w/ExponentialMovingAverage");
  };
  CHECK(averages({}, 1) == std::vector<float>{1.04F, -1.9F});
  CHECK(averages({}, 5) == std::vector<float>{1.398524F, -1.0036898F});
  CHECK(averages("global_step", 1) == std::vector<float>{1.3272727F, -1.1818182F});
  CHECK(averages("global_step", 5) == std::vector<float>{2.2342784F, 1.0856961F});
}

TEST_CASE("a decay outside 0 to 1 is refused") {
  Session session;
  const Variable* const w = session.AddVariable("w", {2}, {1, -2});
  GradientDescentOptimizer optimizer{.learning_rate = 0.1};
  optimizer.gradients.exponential_moving_average = ExponentialMovingAverage{.decay = 1.5};
  CHECK_THROWS_WITH_AS(std::ignore = Minimize(ops::Sum(w->value), optimizer, {}),
                       "exponential_moving_average: decay is 1.5, expected 0 to 1", Error);
}

// The gradient stays the same in steps that apply nothing, so the mean of a group does too.
TEST_CASE("with gradient_accumulation_steps each group of steps is one of every optimizer") {
  const std::vector<AnyOptimizer> optimizers = {
      GradientDescentOptimizer{.learning_rate = 0.1},
      MomentumOptimizer{.learning_rate = 0.1, .momentum = 0.9, .use_nesterov = true},
      AdamOptimizer{.learning_rate = 0.1},
      AdagradOptimizer{.learning_rate = 0.1},
      RMSPropOptimizer{.learning_rate = 0.1, .momentum = 0.5, .centered = true},
      FtrlOptimizer{.learning_rate = 0.1},
      LARSOptimizer{.learning_rate = 0.1},
      AdamWeightDecayOptimizer{.learning_rate = 0.1, .weight_decay_rate = 0.01}};
  for (AnyOptimizer optimizer : optimizers) {
    CAPTURE(optimizer.index());
    const auto gradients = [&]() -> GradientOptions& {
      return std::visit([](auto& o) -> GradientOptions& { return o.gradients; }, optimizer);
    };
    gradients().clip_by_global_norm = 1.5;
    Trained apart(optimizer, 3);
    gradients().gradient_accumulation_steps = 4;
    Trained together(optimizer, 3 * 4 + 1);
    CHECK(together["global_step"] == std::vector<float>{13});
    CHECK(together["w"] == apart["w"]);
    for (const char* const name : {"w/Momentum", "w/Adam", "w/Adam_1", "beta1_power", "beta2_power",
                                   "w/Adagrad", "w/RMSProp", "w/RMSProp_1", "w/RMSProp_2", "w/Ftrl",
                                   "w/Ftrl_1", "w/LARSOptimizer", "w/adam_m", "w/adam_v"}) {
      CAPTURE(name);
      CHECK(together.Has(name) == apart.Has(name));
      if (apart.Has(name)) CHECK(together[name] == apart[name]);
    }
    // The first gradient of the next group: a w.
    const std::vector<float> w = together["w"];
    CHECK(together["w/GradientAccumulator"] == std::vector<float>{w[0], 2 * w[1], 3 * w[2]});
  }
}

TEST_CASE("fewer than one gradient_accumulation_steps are refused") {
  GradientDescentOptimizer optimizer{.learning_rate = 0.1};
  optimizer.gradients.gradient_accumulation_steps = 0;
  CHECK_THROWS_WITH_AS(Trained{optimizer}, "gradient_accumulation_steps is 0, expected at least 1",
                       Error);
}

TEST_CASE("momentum") {
  Trained after(MomentumOptimizer{.learning_rate = 0.1, .momentum = 0.9});
  CHECK(Near(after["w"], {0.485999972, -0.124000013, -0.138999984}));
  CHECK(Near(after["w/Momentum"], {2.33999991, -7.96000004, 2.48999977}));
}

TEST_CASE("Nesterov's momentum") {
  Trained after(MomentumOptimizer{.learning_rate = 0.1, .momentum = 0.9, .use_nesterov = true});
  CHECK(Near(after["w"], {0.327320993, 0.216703951, -0.174086466}));
  CHECK(Near(after["w/Momentum"], {2.11409998, -6.36159992, 1.70834994}));
}

TEST_CASE("Adam, with its powers beside the slots") {
  Trained after(AdamOptimizer{.learning_rate = 0.1});
  CHECK(Near(after["w"], {0.701587379, -1.70062447, 0.20487231}));
  CHECK(Near(after["w/Adam"], {0.24204132, -1.02603352, 0.319856405}));
  CHECK(Near(after["w/Adam_1"], {0.0024478198, 0.0433554202, 0.00450043147}));
  CHECK(Near(after["beta1_power"], {0.656099916}));
  CHECK(Near(after["beta2_power"], {0.996006072}));
}

TEST_CASE("Adagrad") {
  Trained after(AdagradOptimizer{.learning_rate = 0.1});
  CHECK(Near(after["w"], {0.787512779, -1.77629662, 0.293938041}));
  CHECK(Near(after["w/Adagrad"], {2.62288785, 43.962925, 4.84780121}));
}

TEST_CASE("RMSProp") {
  Trained after(RMSPropOptimizer{.learning_rate = 0.1, .momentum = 0.5});
  CHECK(Near(after["w"], {0.610422373, -1.13166904, 0.045884341}));
  CHECK(Near(after["w/RMSProp"], {0.940528214, 3.94511819, 1.04673338}));
  CHECK(Near(after["w/RMSProp_1"], {0.148710251, -0.30131042, 0.140707135}));
}

TEST_CASE("centered RMSProp keeps the mean gradient between its two slots") {
  Trained after(RMSPropOptimizer{.learning_rate = 0.1, .centered = true});
  CHECK(Near(after["w"], {0.721537352, -1.36365294, 0.176910594}));
  CHECK(Near(after["w/RMSProp"], {0.947965622, 4.05722189, 1.072402}));
  CHECK(Near(after["w/RMSProp_1"], {0.242668539, -0.944202304, 0.293978393}));
  CHECK(Near(after["w/RMSProp_2"], {0.085600853, -0.172697097, 0.076588586}));
}

TEST_CASE("Ftrl with both penalties") {
  Trained after(FtrlOptimizer{
      .learning_rate = 0.1,
      .ftrl = {.l1_regularization_strength = 0.01, .l2_regularization_strength = 0.02}});
  CHECK(Near(after["w"], {0.50908345, -1.6219064, 0.208856642}));
  CHECK(Near(after["w/Ftrl"], {1.76283741, 39.4456329, 3.69770527}));
  CHECK(Near(after["w/Ftrl_1"], {-6.78956032, 101.939934, -4.03454638}));
}

TEST_CASE("Ftrl with beta and shrinkage") {
  Trained after(FtrlOptimizer{.learning_rate = 0.1,
                              .ftrl = {.l2_shrinkage_regularization_strength = 0.05, .beta = 0.3}});
  CHECK(Near(after["w"], {0.395654202, -1.5028919, 0.178420052}));
  CHECK(Near(after["w/Ftrl"], {1.4949249, 36.2230377, 3.2939744}));
  CHECK(Near(after["w/Ftrl_1"], {-6.02451277, 94.9610901, -3.77346087}));
}

TEST_CASE("LARS scales the rate by the norms of weights and gradient") {
  Trained after(LARSOptimizer{.learning_rate = 0.1});
  CHECK(Near(after["w"], {0.9997070208694068, -1.9988281944283188, 0.4995605998685554}));
  CHECK(
      Near(after["w/LARSOptimizer"], {2.7100725237966126, -10.83895437095234, 4.064242500699397}));
}

TEST_CASE("a variable in LARS's skip list is updated by plain momentum") {
  Trained skipped(LARSOptimizer{.learning_rate = 0.1, .skip_list = {"w"}});
  Trained momentum(MomentumOptimizer{.learning_rate = 0.1, .momentum = 0.9});
  CHECK(skipped["w"] == momentum["w"]);
}

TEST_CASE("AdamWeightDecay decays the weights beside the step") {
  Trained after(AdamWeightDecayOptimizer{.learning_rate = 0.1, .weight_decay_rate = 0.01});
  CHECK(Near(after["w"], {-0.16367017595476346, -0.7781839736518565, -0.40346033415448523}));
  CHECK(Near(after["w/adam_m"], {0.16931157436318015, -0.8784440031612855, 0.11305066403170966}));
  CHECK(
      Near(after["w/adam_v"], {0.001535878650315993, 0.03360669251819284, 0.0028831625687805924}));
}

TEST_CASE("an excluded variable does not decay") {
  Trained excluded(AdamWeightDecayOptimizer{
      .learning_rate = 0.1, .weight_decay_rate = 0.01, .exclude_from_weight_decay = {"^w$"}});
  Trained without(AdamWeightDecayOptimizer{.learning_rate = 0.1});
  CHECK(excluded["w"] == without["w"]);
}

TEST_CASE("gradients are clipped by their norm together") {
  Trained after(
      GradientDescentOptimizer{.learning_rate = 0.1, .gradients = {.clip_by_global_norm = 1.0}});
  CHECK(Near(after["w"], {0.929844558, -1.72609377, 0.399762243}));
}

// ---- sparse: w [4, 2], loss sum(w[1, 3, 1] * c), two steps -------------------------------------

std::map<std::string, std::vector<float>> SparseSteps(const AnyOptimizer& optimizer, bool dense) {
  Session session;
  const Variable* const w = session.AddVariable("w", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Value rows = ops::GatherV2(w->value, session.Ints({3}, {1, 3, 1}));
  const Value c = session.Const({3, 2}, {1, 2, 3, -4, 0.5F, 0.25F});
  const TrainOp op = Minimize(ops::Sum(ops::Mul(rows, c)), optimizer, {.dense_gradients = dense});
  session.Initialize();
  session.Step(op.node, 2);
  std::map<std::string, std::vector<float>> values;
  for (const auto& [name, tensor] : session.variables().tensors()) {
    values[name] = Session::Floats(tensor);
  }
  return values;
}

TEST_CASE("rows of a sparse gradient, one of them twice, are updated as TensorFlow does") {
  auto sgd = SparseSteps(GradientDescentOptimizer{.learning_rate = 0.1}, false);
  CHECK(Near(sgd["w"], {1, 2, 2.70000029, 3.54999971, 5, 6, 6.39999962, 8.79999924}));
  auto adagrad = SparseSteps(AdagradOptimizer{.learning_rate = 0.1}, false);
  CHECK(Near(adagrad["w"], {1, 2, 2.83221292, 3.83060932, 5, 6, 6.83003569, 8.17028904}));
  CHECK(Near(adagrad["w/Adagrad"], {0.1, 0.1, 4.5999999, 10.2250004, 0.1, 0.1, 18.1, 32.1}));
  auto ftrl = SparseSteps(FtrlOptimizer{.learning_rate = 0.1}, false);
  CHECK(Near(ftrl["w"], {1, 2, 2.21336007, 3.27389789, 5, 6, 6.09623623, 7.53980112}));
  CHECK(Near(ftrl["w/Ftrl_1"], {0, 0, -47.4712868, -104.687973, 0, 0, -259.358856, -427.181458}));
  auto adam = SparseSteps(AdamOptimizer{.learning_rate = 0.1}, false);
  CHECK(Near(adam["w"], {1, 2, 2.80000043, 3.80000043, 5, 6, 6.80000067, 8.19999981}));
}

TEST_CASE("a gradient made dense forgets Ftrl's untouched rows") {
  auto ftrl = SparseSteps(FtrlOptimizer{.learning_rate = 0.1}, true);
  CHECK(ftrl["w"][0] == 0);
  CHECK(ftrl["w"][4] == 0);
}

// ---- replicas -----------------------------------------------------------------------------------

// w after a step on f(w) = w mean(x) from w = 1; each replica has its own x.
float StepOnReplicas(const std::string& reduction, std::optional<double> clip = {}) {
  Session session(2);
  const Variable* const w = session.AddVariable("w", {}, {1});
  const Value x = session.graph().Placeholder(DType::kFloat, Shape{2}, "x");
  const Value loss = ops::Mul(ops::Mean(x), w->value);
  const TrainOp op = Minimize(
      loss,
      GradientDescentOptimizer{
          .learning_rate = 1.0,
          .gradients = {.cross_shard_optimizer = {reduction}, .clip_by_global_norm = clip}},
      {.replicas = 2});
  session.Initialize();
  session.Step(op.node, 1, {{x, {Tensor::Of<float>({2}, {1, 3}), Tensor::Of<float>({2}, {5, 7})}}});
  return session.Floats("w")[0];
}

TEST_CASE("replicas' gradients are averaged or summed") {
  CHECK(StepOnReplicas("MEAN") == doctest::Approx(1 - 4));
  CHECK(StepOnReplicas("SUM") == doctest::Approx(1 - 8));
}

TEST_CASE("clipping sees the gradient after the sum over replicas") {
  CHECK(StepOnReplicas("MEAN", 5.0) == doctest::Approx(1 - 4));
  CHECK(StepOnReplicas("SUM", 5.0) == doctest::Approx(1 - 5));
}

// ---- arguments ----------------------------------------------------------------------------------

std::string MessageOf(const AnyOptimizer& optimizer) {
  Session session;
  const Variable* const w = session.AddVariable("w", {3}, {1, -2, 0.5F});
  try {
    (void)Minimize(Bowl(session, w->value), optimizer, {});
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_CASE("arguments out of range are refused in TensorFlow's words") {
  CHECK(MessageOf(FtrlOptimizer{.learning_rate = 0.1, .ftrl = {.learning_rate_power = 0.5}}) ==
        "learning_rate_power 0.5 needs to be negative or zero");
  CHECK(
      MessageOf(FtrlOptimizer{.learning_rate = 0.1, .ftrl = {.l1_regularization_strength = -1}}) ==
      "l1_regularization_strength -1 needs to be positive or zero");
  CHECK(MessageOf(AdagradOptimizer{.learning_rate = 0.1, .initial_accumulator_value = 0}) ==
        "initial_accumulator_value must be positive: 0");
  CHECK(MessageOf(GradientDescentOptimizer{.learning_rate = 0.1,
                                           .gradients = {.clip_by_global_norm = 0}}) ==
        "clip_by_global_norm is 0, expected more than 0");
}

TEST_CASE("a loss that depends on no trained variable is refused") {
  Session session;
  session.AddVariable("w", {1}, {1});
  const Value loss = session.graph().Scalar<float>(3, "loss");
  CHECK_THROWS_WITH_AS(
      (void)Minimize(loss, GradientDescentOptimizer{.learning_rate = 0.1}, {}),
      "No gradients provided for any variable, check your graph for ops that do not support "
      "gradients, between variables [w] and loss loss.",
      Error);
}

}  // namespace
}  // namespace tpuest::nn
