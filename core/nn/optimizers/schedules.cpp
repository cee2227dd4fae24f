#include "core/nn/optimizers/schedules.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <type_traits>

#include "core/base/text.h"
#include "core/nn/formula/formula.h"
#include "core/nn/global_step.h"
#include "core/nn/job_place.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

// The inputs of a schedule's formula.
struct ScheduleStep {
  Graph& graph;
  Value global_step;  // int64 []
  Value step;         // the same, float32
  std::optional<double> steps_per_epoch;

  [[nodiscard]] Value Number(double value) const { return graph.ScalarOf(DType::kFloat, value); }
  [[nodiscard]] int64_t Steps(const Period& period, std::string_view what) const {
    const int64_t steps = StepsOf(period, steps_per_epoch, what);
    if (steps < 1) {
      throw Error(Code::kUsage, fmt::format("{} is {}, expected at least 1", what, steps));
    }
    return steps;
  }
};

// The progress global_step / decay_steps, rounded down if the decay is a staircase.
template <class Schedule>
Value Progress(const Schedule& schedule, const ScheduleStep& at) {
  const Value p =
      ops::RealDiv(at.step, static_cast<double>(at.Steps(schedule.decay_steps, "decay_steps")));
  return schedule.staircase ? ops::Floor(p) : p;
}

// The rate that does not fall below alpha: rate * ((1 - alpha) * decayed + alpha).
Value ScaleAboveAlpha(double rate, double alpha, Value decayed) {
  return ops::Mul(ops::AddV2(ops::Mul(decayed, 1.0 - alpha), alpha), rate);
}

// A straight line from `first` at step 0 to `last` at `steps`.
Value Rising(double first, double last, double steps, const ScheduleStep& at) {
  return ops::AddV2(ops::Mul(at.Number((last - first) / steps), at.step), first);
}

// Half a wave, from 1 to 0: (1 + cos(pi * fraction)) / 2.
Value HalfWave(Value fraction) {
  return ops::Mul(ops::AddV2(ops::Cos(ops::Mul(fraction, std::numbers::pi)), 1.0), 0.5);
}

Value Decayed(const ConstantRate& schedule, const ScheduleStep& at) {
  return at.Number(schedule.learning_rate);
}

Value Decayed(const ExponentialDecay& schedule, const ScheduleStep& at) {
  const Value factor = ops::Pow(at.Number(schedule.decay_rate), Progress(schedule, at));
  return ops::Mul(factor, schedule.learning_rate);
}

Value Decayed(const NaturalExpDecay& schedule, const ScheduleStep& at) {
  const Value rate = ops::Exp(at.Number(-schedule.decay_rate));
  return ops::Mul(ops::Pow(rate, Progress(schedule, at)), schedule.learning_rate);
}

Value Decayed(const InverseTimeDecay& schedule, const ScheduleStep& at) {
  const Value grown = ops::Mul(Progress(schedule, at), schedule.decay_rate);
  return ops::RealDiv(schedule.learning_rate, ops::AddV2(grown, 1.0));
}

Value Decayed(const PolynomialDecay& schedule, const ScheduleStep& at) {
  const auto decay_steps = static_cast<double>(at.Steps(schedule.decay_steps, "decay_steps"));
  Value step = at.step;
  if (schedule.decay_begin.value != 0) {
    const int64_t begin = StepsOf(schedule.decay_begin, at.steps_per_epoch, "decay_begin");
    step = ops::Maximum(ops::Sub(step, static_cast<double>(begin)), 0.0);
  }
  Value steps = at.Number(decay_steps);
  if (schedule.cycle) {
    const Value cycles = ops::Maximum(ops::Ceil(ops::RealDiv(step, decay_steps)), 1.0);
    steps = ops::Mul(steps, cycles);
  } else {
    step = ops::Minimum(step, steps);
  }
  const Value left = ops::Pow(ops::Sub(1.0, ops::RealDiv(step, steps)), schedule.power);
  const Value span =
      ops::Sub(at.Number(schedule.learning_rate), at.Number(schedule.end_learning_rate));
  return ops::AddV2(ops::Mul(span, left), schedule.end_learning_rate);
}

Value Decayed(const PiecewiseConstant& schedule, const ScheduleStep& at) {
  if (schedule.values.size() != schedule.boundaries.size() + 1) {
    throw Error(Code::kUsage,
                fmt::format("found {} boundaries and {} values", schedule.boundaries.size(),
                            schedule.values.size()),
                "The length of boundaries should be 1 less than the length of values");
  }
  Value rate = at.Number(schedule.values[0]);
  int64_t last = 0;
  for (size_t i = 0; i < schedule.boundaries.size(); ++i) {
    const int64_t boundary = StepsOf(schedule.boundaries[i], at.steps_per_epoch, "a boundary");
    if (i > 0 && boundary <= last) {
      throw Error(Code::kUsage, fmt::format("boundary {} comes after {}", boundary, last),
                  "boundaries increase");
    }
    last = boundary;
    const Value beyond = ops::Greater(at.global_step, at.graph.Scalar<int64_t>(boundary));
    rate = ops::SelectV2(beyond, at.Number(schedule.values[i + 1]), rate);
  }
  return rate;
}

Value Decayed(const CosineDecay& schedule, const ScheduleStep& at) {
  const auto decay_steps = static_cast<double>(at.Steps(schedule.decay_steps, "decay_steps"));
  const auto wave = [&](Value step, double rate) {
    const Value fraction = ops::RealDiv(ops::Minimum(step, decay_steps), decay_steps);
    return ScaleAboveAlpha(rate, schedule.alpha, HalfWave(fraction));
  };
  if (!schedule.warmup_target) return wave(at.step, schedule.learning_rate);
  if (schedule.warmup) {
    throw Error(Code::kUsage, "cosine_decay has both `warmup` and `warmup_target`",
                "keep one of them");
  }
  const double target = *schedule.warmup_target;
  const int64_t warm_steps = StepsOf(schedule.warmup_steps, at.steps_per_epoch, "warmup_steps");
  if (warm_steps < 1) return wave(at.step, target);
  const auto steps = static_cast<double>(warm_steps);
  return ops::SelectV2(ops::Less(at.global_step, at.graph.Scalar<int64_t>(warm_steps)),
                       Rising(schedule.learning_rate, target, steps, at),
                       wave(ops::Maximum(ops::Sub(at.step, steps), 0.0), target));
}

// The number of restarts at a step, float32 [], from TensorFlow's formula in float32. Its logarithm
// is the C library's, whose last bit decides at which step a period begins, so the steps are found
// here: the first one of each period.
constexpr int64_t kMostRestarts = 4096;
Value RestartsBy(double t_mul, int64_t first, const ScheduleStep& at) {
  const auto t = static_cast<float>(t_mul);
  const auto restarts = [&](int64_t step) {
    const float done = static_cast<float>(step) / static_cast<float>(first);
    return std::floor(std::log(1.0F - done * (1.0F - t)) / std::log(t));
  };
  std::vector<int64_t> beginnings;
  double length = static_cast<double>(first);
  double begin = length;
  while (begin < static_cast<double>(std::numeric_limits<int32_t>::max()) &&
         std::ssize(beginnings) < kMostRestarts) {
    const auto count = static_cast<float>(beginnings.size() + 1);
    auto step = static_cast<int64_t>(std::ceil(begin));
    while (step > 1 && restarts(step - 1) >= count) --step;
    while (restarts(step) < count) ++step;
    beginnings.push_back(step);
    length *= t_mul;
    begin += length;
  }
  const Shape shape({static_cast<int64_t>(beginnings.size())});
  const Value begun = ops::GreaterEqual(
      at.global_step, at.graph.Constant(Tensor::Of<int64_t>(shape, beginnings), "beginnings"));
  return ops::Sum(ops::Cast(begun, DType::kFloat));
}

Value Decayed(const CosineDecayRestarts& schedule, const ScheduleStep& at) {
  const int64_t first = at.Steps(schedule.first_decay_steps, "first_decay_steps");
  const Value done = ops::RealDiv(at.step, static_cast<double>(first));
  Value restart;
  Value fraction;
  if (schedule.t_mul == 1.0) {
    restart = ops::Floor(done);
    fraction = ops::Sub(done, restart);
  } else {
    // Restart i begins at the sum of the i periods before it: (1 - t^i) / (1 - t) first periods.
    const Value t_mul = at.Number(schedule.t_mul);
    const Value one_less = ops::Sub(1.0, t_mul);
    restart = schedule.t_mul > 1.0
                  ? RestartsBy(schedule.t_mul, first, at)
                  : ops::Floor(ops::RealDiv(ops::Log(ops::Sub(1.0, ops::Mul(done, one_less))),
                                            ops::Log(t_mul)));
    const Value length = ops::Pow(t_mul, restart);
    const Value before = ops::RealDiv(ops::Sub(1.0, length), one_less);
    fraction = ops::RealDiv(ops::Sub(done, before), length);
  }
  const Value height = ops::Pow(at.Number(schedule.m_mul), restart);
  return ScaleAboveAlpha(schedule.learning_rate, schedule.alpha,
                         ops::Mul(height, HalfWave(fraction)));
}

template <class Schedule>
double FirstRate(const Schedule& schedule) {
  if constexpr (std::is_same_v<Schedule, PiecewiseConstant>) {
    return schedule.values[0];
  } else {
    return schedule.learning_rate;
  }
}

Value WarmRate(const LinearWarmup& warmup, double first_rate, double steps,
               const ScheduleStep& at) {
  return Rising(warmup.warmup_learning_rate, first_rate, steps, at);
}

Value WarmRate(const ConstantWarmup& warmup, double /*first_rate*/, double /*steps*/,
               const ScheduleStep& at) {
  return at.Number(warmup.warmup_learning_rate);
}

// The length of a warm-up: of epochs not rounded, since its slope is theirs.
double WarmSteps(const Period& period, const ScheduleStep& at) {
  const auto whole = static_cast<double>(at.Steps(period, "warmup_steps"));
  return period.unit == Period::Unit::kEpochs ? period.value * *at.steps_per_epoch : whole;
}

template <class Schedule>
Value Rate(const Schedule& schedule, const ScheduleStep& at) {
  return AtPlace(at.graph, schedule.place, [&] {
    const Value decayed = Decayed(schedule, at);
    if (!schedule.warmup) return decayed;
    return std::visit(
        [&](const auto& warmup) {
          const double steps = WarmSteps(warmup.warmup_steps, at);
          const Value warm = WarmRate(warmup, FirstRate(schedule), steps, at);
          const auto end = static_cast<int64_t>(std::ceil(steps));
          const Value early = ops::Less(at.global_step, at.graph.Scalar<int64_t>(end));
          return ops::SelectV2(early, warm, decayed);
        },
        *schedule.warmup);
  });
}

Value Rate(double rate, const ScheduleStep& at) { return at.Number(rate); }

Value Rate(const Formula& formula, const ScheduleStep& at) {
  FormulaNames names{.values = {{"step", at.step}, {"global_step", at.global_step}}};
  if (at.steps_per_epoch) names.values["epoch"] = ops::RealDiv(at.step, *at.steps_per_epoch);
  const Value rate = BuildFormula(at.graph, formula, names);
  const bool number = IsFloating(rate.dtype()) || IsInteger(rate.dtype());
  if (!number || rate.shape() != Shape({})) {
    throw Error(Code::kUsage, fmt::format("a learning rate must be one number, found {} {}",
                                          NameOf(rate.dtype()), rate.shape().Text()))
        .At(formula.place);
  }
  return ops::Cast(rate, DType::kFloat);
}

}  // namespace

int64_t StepsOf(const Period& period, std::optional<double> steps_per_epoch,
                std::string_view what) {
  if (period.unit == Period::Unit::kSteps) return std::llround(period.value);
  if (period.unit == Period::Unit::kSeconds) {
    throw Error(Code::kUsage, fmt::format("{} is a time, {}; expected steps or epochs", what,
                                          PeriodText(period)));
  }
  if (!steps_per_epoch) {
    throw Error(Code::kUsage,
                fmt::format("{} is {}, but the number of steps in an epoch is not known", what,
                            PeriodText(period)),
                "give it in steps");
  }
  return std::llround(period.value * *steps_per_epoch);
}

Value LearningRateAt(Graph& graph, const LearningRate& rate, std::optional<double> steps_per_epoch,
                     Value step) {
  if (const auto* const fixed = std::get_if<double>(&rate); fixed != nullptr && *fixed < 0) {
    throw Error(Code::kUsage,
                fmt::format("learning_rate is {}, expected at least 0", NumberText(*fixed)));
  }
  const NameScope scope(graph, "learning_rate");
  if (!step.valid()) step = GetOrCreateGlobalStep(graph)->value;
  const ScheduleStep at{graph, step, ops::Cast(step, DType::kFloat), steps_per_epoch};
  return std::visit([&](const auto& schedule) { return Rate(schedule, at); }, rate);
}

}  // namespace tpuest::nn
