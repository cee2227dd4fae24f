#pragma once
// Learning rates as functions of global_step, under the names and arguments of tf.train.*_decay,
// computed in float32 as TensorFlow does. Periods are steps or epochs.

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.h"
#include "core/base/formula_text.h"
#include "core/base/visit.h"
#include "core/graph/graph.h"

namespace tpuest::nn {

inline constexpr std::string_view kRateHelp = "rate at step 0";

enum class WarmupShape { kLinear, kConstant };

// The beginning of training, up to step warmup_steps.
template <WarmupShape shape>
struct WarmupOptions {
  static constexpr bool kIsConstant = shape == WarmupShape::kConstant;
  static constexpr std::string_view kType = kIsConstant ? "constant" : "linear";
  static constexpr std::string_view kSummary =
      kIsConstant ? std::string_view("a rate of its own up to warmup_steps")
                  : "a rate that rises to the schedule's up to warmup_steps";
  Period warmup_steps;
  double warmup_learning_rate = 0.0;

  template <class V>
  void Visit(V& v) {
    v("warmup_steps", warmup_steps, {.help = "steps or epochs of warm-up", .required = true});
    v("warmup_learning_rate", warmup_learning_rate,
      {.help = kIsConstant ? "rate during the warm-up" : kRateHelp, .required = kIsConstant});
  }
};

// Raises the rate linearly from warmup_learning_rate at step 0 to the schedule's first rate.
using LinearWarmup = WarmupOptions<WarmupShape::kLinear>;
// Keeps the rate at warmup_learning_rate during the warm-up.
using ConstantWarmup = WarmupOptions<WarmupShape::kConstant>;

// A warm-up replaces the schedule while global_step < warmup_steps, which may be fractional if
// given in epochs; it does not shift the schedule.
using Warmup = std::optional<std::variant<LinearWarmup, ConstantWarmup>>;

// Visits the last argument of every schedule.
template <class V>
void VisitWarmup(V& v, Warmup& warmup) {
  v("warmup", warmup, {.help = "how the rate rises at the start of training", .tpuest = true});
}

// The same rate at every step; a plain number in a job means this without a warm-up.
struct ConstantRate {
  static constexpr std::string_view kType = "constant";
  static constexpr std::string_view kSummary = "one rate, with a warm-up";
  double learning_rate = 0.0;
  Warmup warmup;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = "the rate", .required = true});
    VisitWarmup(v, warmup);
  }
};

// How a rate falls with progress = global_step / decay_steps.
enum class Decay { kExponential, kNaturalExp, kInverseTime };

struct DecayWords {
  std::string_view type;
  std::string_view keras;        // as DecayOptions::kKeras
  std::string_view decay_steps;  // help
  std::string_view decay_rate;
  std::string_view summary;
};
[[nodiscard]] constexpr DecayWords WordsOf(Decay decay) {
  constexpr DecayWords kWords[] = {
      {"exponential_decay", "ExponentialDecay",
       "steps after which the rate is multiplied by decay_rate", "factor per decay_steps",
       "multiplies the rate by decay_rate every decay_steps"},
      {"natural_exp_decay", "", "steps after which the rate is multiplied by e^-decay_rate",
       "exponent per decay_steps", "multiplies the rate by e^-decay_rate every decay_steps"},
      {"inverse_time_decay", "InverseTimeDecay",
       "steps after which the divisor has grown by decay_rate",
       "growth of the divisor per decay_steps",
       "divides the rate by 1 + decay_rate * step / decay_steps"}};
  return kWords[static_cast<int>(decay)];
}

template <Decay decay>
struct DecayOptions {
  static constexpr std::string_view kType = WordsOf(decay).type;
  // The class of tf.keras.optimizers.schedules that computes the same; "" if none does. Its
  // arguments have the names of the keys here, except that learning_rate is its
  // initial_learning_rate.
  static constexpr std::string_view kKeras = WordsOf(decay).keras;
  static constexpr std::string_view kSummary = WordsOf(decay).summary;
  double learning_rate = 0.0;
  Period decay_steps;
  double decay_rate = 0.0;
  bool staircase = false;
  Warmup warmup;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kRateHelp, .required = true});
    v("decay_steps", decay_steps, {.help = WordsOf(decay).decay_steps, .required = true});
    v("decay_rate", decay_rate, {.help = WordsOf(decay).decay_rate, .required = true});
    v("staircase", staircase, {.help = "decay only at whole multiples of decay_steps"});
    VisitWarmup(v, warmup);
  }
};

// The rate learning_rate * decay_rate ^ progress (tf.train.exponential_decay).
using ExponentialDecay = DecayOptions<Decay::kExponential>;
// The rate learning_rate * exp(-decay_rate * progress) (tf.train.natural_exp_decay).
using NaturalExpDecay = DecayOptions<Decay::kNaturalExp>;
// The rate learning_rate / (1 + decay_rate * progress) (tf.train.inverse_time_decay).
using InverseTimeDecay = DecayOptions<Decay::kInverseTime>;

// The rate (learning_rate - end) * (1 - step / decay_steps) ^ power + end
// (tf.train.polynomial_decay). The step is at most decay_steps; with `cycle`, decay_steps grows to
// its next multiple instead. Steps count from decay_begin, as in polynomial_decay(rate, global_step
// - begin, ...).
struct PolynomialDecay {
  static constexpr std::string_view kType = "polynomial_decay";
  static constexpr std::string_view kKeras = "PolynomialDecay";
  static constexpr std::string_view kSummary =
      "decays to end_learning_rate by a power of the remaining fraction";
  double learning_rate = 0.0;
  Period decay_steps;
  double end_learning_rate = 0.0001;
  double power = 1.0;
  bool cycle = false;
  Period decay_begin;
  Warmup warmup;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kRateHelp, .required = true});
    v("decay_steps", decay_steps, {.help = "number of steps to the end rate", .required = true});
    v("end_learning_rate", end_learning_rate, {.help = "rate at the end"});
    v("power", power, {.help = "exponent of the polynomial"});
    v("cycle", cycle, {.help = "start again after decay_steps"});
    v("decay_begin", decay_begin,
      {.help = "step at which the decay starts, such as the end of a warm-up", .tpuest = true});
    VisitWarmup(v, warmup);
  }
};

// The rate values[i] while boundaries[i - 1] < global_step <= boundaries[i]
// (tf.train.piecewise_constant).
struct PiecewiseConstant {
  static constexpr std::string_view kType = "piecewise_constant";
  static constexpr std::string_view kKeras = "PiecewiseConstantDecay";
  static constexpr std::string_view kSummary = "one rate per interval between boundaries";
  std::vector<Period> boundaries;
  std::vector<double> values;
  Warmup warmup;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("boundaries", boundaries,
      {.help = "last step of each interval but the last", .required = true});
    v("values", values, {.help = "rates, one more than boundaries", .required = true});
    VisitWarmup(v, warmup);
  }
};

// The rate learning_rate * ((1 - alpha) * (1 + cos(pi * step / decay_steps)) / 2 + alpha), with
// step at most decay_steps (tf.train.cosine_decay). With warmup_target the rate first rises
// linearly from learning_rate to warmup_target in warmup_steps steps; the cosine then starts from
// warmup_target (tf.keras.optimizers.schedules.CosineDecay).
struct CosineDecay {
  static constexpr std::string_view kType = "cosine_decay";
  static constexpr std::string_view kKeras = "CosineDecay";
  static constexpr std::string_view kSummary = "decays along half a cosine";
  double learning_rate = 0.0;
  Period decay_steps;
  double alpha = 0.0;
  std::optional<double> warmup_target;
  Period warmup_steps;
  Warmup warmup;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kRateHelp, .required = true});
    v("decay_steps", decay_steps, {.help = "number of steps of the half cosine", .required = true});
    v("alpha", alpha, {.help = "smallest rate as a fraction of the decay's initial rate"});
    v("warmup_target", warmup_target,
      {.help = "rate after warmup_steps, where the decay starts, as in tf.keras; `null` starts the "
               "decay at step 0 from learning_rate"});
    v("warmup_steps", warmup_steps,
      {.help = "number of steps from learning_rate to warmup_target"});
    VisitWarmup(v, warmup);
  }
};

// Cosine decay that restarts after first_decay_steps, each time t_mul as long and m_mul as high
// (Loshchilov & Hutter 2016, tf.train.cosine_decay_restarts).
struct CosineDecayRestarts {
  static constexpr std::string_view kType = "cosine_decay_restarts";
  static constexpr std::string_view kKeras = "CosineDecayRestarts";
  static constexpr std::string_view kSummary = "decays along half a cosine, repeatedly";
  double learning_rate = 0.0;
  Period first_decay_steps;
  double t_mul = 2.0;
  double m_mul = 1.0;
  double alpha = 0.0;
  Warmup warmup;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("learning_rate", learning_rate, {.help = kRateHelp, .required = true});
    v("first_decay_steps", first_decay_steps,
      {.help = "number of steps of the first period", .required = true});
    v("t_mul", t_mul, {.help = "length of each period relative to the previous one"});
    v("m_mul", m_mul, {.help = "initial rate of each period relative to the previous one"});
    v("alpha", alpha, {.help = "smallest rate as a fraction of learning_rate"});
    VisitWarmup(v, warmup);
  }
};

// A formula (core/nn/formula/formula.h) may read `step` (float32), `global_step` (int64) and, if
// the length of an epoch is known, `epoch` (float32, completed epochs): "0.1 * min(1, step / 500)".
using LearningRate =
    std::variant<double, Formula, ConstantRate, ExponentialDecay, NaturalExpDecay, InverseTimeDecay,
                 PolynomialDecay, PiecewiseConstant, CosineDecay, CosineDecayRestarts>;

// Returns the rate at the start of the step, float32 [], as a function of `step` (int64 [];
// global_step if it is not valid()). `steps_per_epoch` converts epochs to steps. Throws Error
// kUsage for epochs without steps_per_epoch, a time instead of steps, counts below 1, boundaries
// that do not fit the values, and a formula that does not give one number.
[[nodiscard]] Value LearningRateAt(Graph& graph, const LearningRate& rate,
                                   std::optional<double> steps_per_epoch = {}, Value step = {});

// Converts a period to steps, rounded to the nearest. Throws as LearningRateAt does.
[[nodiscard]] int64_t StepsOf(const Period& period, std::optional<double> steps_per_epoch,
                              std::string_view what);

}  // namespace tpuest::nn
