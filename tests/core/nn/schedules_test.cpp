// Rates computed by tf.compat.v1.train (TensorFlow 2.15) at the same steps.

#include "core/nn/optimizers/schedules.h"

#include <doctest/doctest.h>

#include "core/nn/global_step.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

const std::vector<int64_t> kSteps = {0, 1, 7, 10, 11, 25, 40};

std::vector<float> RatesAt(const LearningRate& rate, const std::vector<int64_t>& steps = kSteps,
                           std::optional<double> steps_per_epoch = {}) {
  Session session;
  const Value at = LearningRateAt(session.graph(), rate, steps_per_epoch);
  std::vector<float> rates;
  for (const int64_t step : steps) {
    session.variables().Set("global_step", Tensor::Scalar<int64_t>(step));
    rates.push_back(session.Float(at));
  }
  return rates;
}

std::string MessageOf(const LearningRate& rate, std::optional<double> steps_per_epoch = {}) {
  Session session;
  try {
    (void)LearningRateAt(session.graph(), rate, steps_per_epoch);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_CASE("a number is the same rate at every step") {
  CHECK(Near(RatesAt(0.25, {0, 100}), {0.25, 0.25}));
  CHECK(Near(RatesAt(ConstantRate{.learning_rate = 0.5}, {0, 100}), {0.5, 0.5}));
}

// The first two are TensorFlow 2.15's results for the same formula with step = tf.cast(global_step,
// tf.float32).
TEST_CASE("a formula is of the step and the epoch") {
  CHECK(Near(RatesAt(Formula{"0.1 * min(1, step / 500)"}, {0, 1, 250, 500, 9000}),
             {0, 0.0002, 0.05, 0.1, 0.1}, 1e-7));
  CHECK(Near(RatesAt(Formula{"0.5 * 0.9 ** floor(step / 10) if global_step < 30 else 1e-3"}),
             {0.5, 0.5, 0.5, 0.45, 0.45, 0.405, 1e-3}, 1e-7));
  CHECK(Near(RatesAt(Formula{"0.2 / (1 + epoch)"}, {0, 30, 60}, 30.0), {0.2, 0.1, 0.2 / 3}, 1e-7));
  CHECK(Near(RatesAt(Formula{"global_step // 3"}, {0, 7}), {0, 2}));
}

TEST_CASE("a formula that does not give a rate is refused") {
  CHECK(MessageOf(Formula{"0.1 * steps"}) == "there is no 'steps'");
  CHECK(MessageOf(Formula{"0.1 * epoch"}) == "there is no 'epoch'");
  CHECK(MessageOf(Formula{"stack([step, step])"}) ==
        "a learning rate must be one number, found float32 [2]");
  CHECK(MessageOf(Formula{"step < 3"}) == "a learning rate must be one number, found bool []");
}

TEST_CASE("exponential decay is TensorFlow's") {
  CHECK(
      Near(RatesAt(ExponentialDecay{.learning_rate = 0.1, .decay_steps = {10}, .decay_rate = 0.96}),
           {0.100000001, 0.0995926186, 0.0971828997, 0.0960000008, 0.0956089124, 0.0902979895,
            0.0849346444},
           1e-7));
  CHECK(Near(RatesAt(ExponentialDecay{
                 .learning_rate = 0.1, .decay_steps = {10}, .decay_rate = 0.5, .staircase = true}),
             {0.1, 0.1, 0.1, 0.05, 0.05, 0.025, 0.00625}, 1e-7));
}

TEST_CASE("natural exponential decay is TensorFlow's") {
  CHECK(Near(RatesAt(NaturalExpDecay{.learning_rate = 0.1, .decay_steps = {10}, .decay_rate = 0.5}),
             {0.100000001, 0.0951229483, 0.0704688057, 0.0606530681, 0.0576949827, 0.0286504813,
              0.0135335298},
             1e-7));
  CHECK(Near(RatesAt(NaturalExpDecay{
                 .learning_rate = 0.1, .decay_steps = {10}, .decay_rate = 0.5, .staircase = true}),
             {0.1, 0.1, 0.1, 0.0606530681, 0.0606530681, 0.0367879458, 0.0135335298}, 1e-7));
}

TEST_CASE("inverse time decay is TensorFlow's") {
  CHECK(Near(
      RatesAt(InverseTimeDecay{.learning_rate = 0.1, .decay_steps = {10}, .decay_rate = 0.5}),
      {0.1, 0.0952381045, 0.0740740746, 0.0666666701, 0.0645161346, 0.0444444455, 0.0333333351},
      1e-7));
  CHECK(Near(RatesAt(InverseTimeDecay{
                 .learning_rate = 0.1, .decay_steps = {10}, .decay_rate = 0.5, .staircase = true}),
             {0.1, 0.1, 0.1, 0.0666666701, 0.0666666701, 0.05, 0.0333333351}, 1e-7));
}

TEST_CASE("polynomial decay is TensorFlow's") {
  CHECK(Near(RatesAt(PolynomialDecay{
                 .learning_rate = 0.1, .decay_steps = {20}, .end_learning_rate = 0.01, .power = 2}),
             {0.1, 0.0912249982, 0.0480249971, 0.0324999988, 0.0282249991, 0.01, 0.01}, 1e-7));
  CHECK(Near(RatesAt(PolynomialDecay{.learning_rate = 0.1,
                                     .decay_steps = {10},
                                     .end_learning_rate = 0.01,
                                     .power = 0.5,
                                     .cycle = true}),
             {0.1, 0.0953814983, 0.0592950359, 0.01, 0.0703738332, 0.0467423499, 0.01}, 1e-7));
}

TEST_CASE("a boundary belongs to the value before it") {
  CHECK(Near(RatesAt(PiecewiseConstant{.boundaries = {{10}, {25}}, .values = {0.1, 0.01, 0.001}}),
             {0.1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.001}, 1e-8));
}

// The rates of tf.keras.optimizers.schedules.CosineDecay (TensorFlow 2.15).
TEST_CASE("cosine decay with a warm-up target rises to it and falls from there, as in Keras") {
  CosineDecay warm{.learning_rate = 0.02,
                   .decay_steps = {10},
                   .alpha = 0.1,
                   .warmup_target = 0.5,
                   .warmup_steps = {8}};
  CHECK(Near(RatesAt(warm), {0.02, 0.08, 0.44, 0.4570288062, 0.4072516859, 0.05, 0.05}, 1e-7));
  warm.alpha = 0;
  warm.warmup_steps = {0};
  CHECK(Near(RatesAt(warm), {0.5, 0.4877641201, 0.1030537039, 0, 0, 0, 0}, 1e-7));
  warm.warmup = LinearWarmup{.warmup_steps = {5}};
  CHECK(MessageOf(warm) == "cosine_decay has both `warmup` and `warmup_target`");
}

TEST_CASE("cosine decay and its restarts are TensorFlow's") {
  CHECK(Near(RatesAt(CosineDecay{.learning_rate = 0.1, .decay_steps = {20}, .alpha = 0.1}),
             {0.1, 0.0994459763, 0.0754295737, 0.054999996, 0.0479604453, 0.01, 0.01}, 1e-7));
  CHECK(Near(
      RatesAt(CosineDecayRestarts{
          .learning_rate = 0.1, .first_decay_steps = {10}, .t_mul = 2, .m_mul = 0.5, .alpha = 0.1}),
      {0.1, 0.0977975428, 0.0285496656, 0.0550000034, 0.0547229908, 0.0165900979, 0.0292049535},
      1e-7));
  CHECK(Near(RatesAt(CosineDecayRestarts{
                 .learning_rate = 0.1, .first_decay_steps = {10}, .t_mul = 1, .m_mul = 0.9}),
             {0.1, 0.0975528285, 0.0206107404, 0.09, 0.0877975449, 0.0404999964, 0.0656099916},
             1e-7));
}

TEST_CASE("a linear warm-up ends where the unshifted schedule takes over") {
  const PiecewiseConstant schedule{
      .boundaries = {{6}},
      .values = {0.4, 0.1},
      .warmup = LinearWarmup{.warmup_steps = {4}, .warmup_learning_rate = 0.2}};
  CHECK(Near(RatesAt(schedule, {0, 1, 2, 3, 4, 6, 7}), {0.2, 0.25, 0.3, 0.35, 0.4, 0.4, 0.1}));
}

TEST_CASE("a warm-up in epochs uses them unrounded") {
  const ConstantRate schedule{.learning_rate = 0.4,
                              .warmup = LinearWarmup{.warmup_steps = {5, Period::Unit::kEpochs}}};
  // ImageNet in batches of 1024, as in TensorFlow's TPU models.
  CHECK(Near(RatesAt(schedule, {0, 1, 6255, 6256}, 1281167.0 / 1024),
             {0, 0.4 / 6255.698, 0.4 * 6255 / 6255.698, 0.4}));
}

TEST_CASE("a polynomial decay counts from its beginning") {
  const PolynomialDecay schedule{
      .learning_rate = 32,
      .decay_steps = {3012},
      .end_learning_rate = 1e-4,
      .power = 2,
      .decay_begin = {14, Period::Unit::kEpochs},
      .warmup = LinearWarmup{.warmup_steps = {14, Period::Unit::kEpochs}}};
  // LARS in batches of 32,768: 547 steps of warm-up, then (1 - step / 3012) ^ 2.
  const auto decayed = [](double step) {
    return (32 - 1e-4) * (1 - step / 3012) * (1 - step / 3012) + 1e-4;
  };
  CHECK(Near(RatesAt(schedule, {0, 547, 548, 1547, 3558}, 1281167.0 / 32768),
             {0, 32 * 547 / 547.3735, decayed(1), decayed(1000), decayed(3011)}, 1e-5));
}

TEST_CASE("a constant warm-up holds its rate") {
  const ConstantRate schedule{
      .learning_rate = 1,
      .warmup = ConstantWarmup{.warmup_steps = {2}, .warmup_learning_rate = 0.5}};
  CHECK(Near(RatesAt(schedule, {0, 1, 2, 3}), {0.5, 0.5, 1, 1}));
}

TEST_CASE("epochs are converted to steps") {
  const Period epochs{.value = 1.5, .unit = Period::Unit::kEpochs};
  CHECK(StepsOf(epochs, 10.0, "decay_steps") == 15);
  CHECK(Near(RatesAt(PiecewiseConstant{.boundaries = {epochs}, .values = {1, 2}}, {15, 16}, 10.0),
             {1, 2}));
  CHECK(MessageOf(PiecewiseConstant{.boundaries = {epochs}, .values = {1, 2}}) ==
        "a boundary is 1.5ep, but the number of steps in an epoch is not known");
}

TEST_CASE("an invalid schedule is refused") {
  CHECK(MessageOf(PiecewiseConstant{.boundaries = {{1}}, .values = {1}}) ==
        "found 1 boundaries and 1 values");
  CHECK(MessageOf(PiecewiseConstant{.boundaries = {{5}, {5}}, .values = {1, 2, 3}}) ==
        "boundary 5 comes after 5");
  CHECK(MessageOf(ExponentialDecay{.learning_rate = 1, .decay_steps = {0}, .decay_rate = 0.5}) ==
        "decay_steps is 0, expected at least 1");
  const Period seconds{.value = 90, .unit = Period::Unit::kSeconds};
  CHECK(MessageOf(CosineDecay{.learning_rate = 1, .decay_steps = seconds}) ==
        "decay_steps is a time, 90s; expected steps or epochs");
}

TEST_CASE("a schedule's error has its place in the job") {
  Session session;
  const LearningRate rate = PiecewiseConstant{
      .boundaries = {}, .values = {}, .place = {.file = "job.yaml", .line = 7, .column = 3}};
  try {
    (void)LearningRateAt(session.graph(), rate);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.faults().front().place.line == 7);
  }
}

TEST_CASE("restarts come at the steps where TensorFlow's float32 has them") {
  const std::vector<int64_t> steps = {3, 4, 9, 10, 18, 19, 32, 33};
  CHECK(Near(
      RatesAt(CosineDecayRestarts{.learning_rate = 1.0, .first_decay_steps = {4}, .t_mul = 1.5},
              steps),
      {0.1464466154575348, 1, 0.0669873058795929, 1, 0.030153661966323853, 1, 0.003380805253982544,
       0.9984964728355408},
      1e-6));
  CHECK(Near(RatesAt(
                 CosineDecayRestarts{
                     .learning_rate = 1.0, .first_decay_steps = {7}, .t_mul = 1.3, .m_mul = 0.5},
                 {7, 15, 16, 17, 28, 43}),
             {0.5, 0.0178108811378479, 0.00014896690845489502, 0.24644672870635986,
              0.12499360740184784, 0.000124465674161911},
             1e-6));
}

}  // namespace
}  // namespace tpuest::nn
