#include "core/nn/optimizers/table_parameters.h"

#include "core/base/text.h"
#include "core/nn/job_place.h"

namespace tpuest::nn {
namespace {

template <class T>
inline constexpr bool kHasRows = requires(const T& optimizer) {
  optimizer.rows;
};

[[noreturn]] void RefuseArgument(std::string message, std::string hint = "") {
  throw Error(Code::kUsage, std::move(message), std::move(hint));
}

void RequireAtLeastZero(std::string_view name, double value) {
  if (value >= 0) return;
  RefuseArgument(
      fmt::format("{} must be greater than or equal to 0. got {}.", name, NumberText(value)));
}

void RequireFraction(std::string_view name, double value) {
  if (value >= 0 && value < 1) return;
  RefuseArgument(fmt::format("{} must be between 0. and 1; got {}.", name, NumberText(value)));
}

void RequireEpsilon(double value) {
  if (value > 0) return;
  RefuseArgument(fmt::format("epsilon must be positive; got {}.", NumberText(value)));
}

void CheckProximal(const ProximalOptions& o) {
  RequireAtLeastZero("l1_regularization_strength", o.l1_regularization_strength);
  RequireAtLeastZero("l2_regularization_strength", o.l2_regularization_strength);
}

void CheckOwn(const AdagradParameters& o) {
  if (o.initial_accumulator > 0) return;
  RefuseArgument(fmt::format("Adagrad initial_accumulator must be greater than zero. Received: {}.",
                             NumberText(o.initial_accumulator)));
}

void CheckOwn(const AdagradMomentumParameters& o) {
  if (!(o.epsilon > 0)) RefuseArgument("Adagrad momentum: epsilon must be positive");
  if (!(o.exponent > 0)) RefuseArgument("Adagrad momentum: Precondition exponent must >0");
}

void CheckOwn(const ProximalAdagradParameters& o) {
  if (!(o.initial_accumulator > 0)) {
    RefuseArgument(fmt::format("Adagrad initial_accumulator must be positive. Received: {}.",
                               NumberText(o.initial_accumulator)));
  }
  CheckProximal(o.proximal);
}

void CheckOwn(const AdamParameters& o) {
  RequireFraction("beta1", o.beta1);
  RequireFraction("beta2", o.beta2);
  RequireEpsilon(o.epsilon);
  if (!o.rows.use_gradient_accumulation && !o.lazy_adam) {
    RefuseArgument("When disabling Lazy Adam, gradient accumulation must be used.");
  }
}

void CheckOwn(const FtrlParameters& o) {
  if (!(o.learning_rate_power <= 0)) {
    RefuseArgument(fmt::format("learning_rate_power must be less than or equal to 0. got {}.",
                               NumberText(o.learning_rate_power)));
  }
  RequireAtLeastZero("initial_accumulator_value", o.initial_accumulator_value);
  if (o.initial_accumulator_value == 0 && !o.allow_zero_accumulator) {
    RefuseArgument("initial_accumulator_value is 0, which a TPU does not accept",
                   "allow_zero_accumulator: true, or initial_accumulator_value: 0.1");
  }
  CheckProximal(o.proximal);
}

void CheckOwn(const ProximalYogiParameters& o) {
  RequireFraction("beta1", o.beta1);
  RequireFraction("beta2", o.beta2);
  RequireEpsilon(o.epsilon);
  CheckProximal(o.proximal);
}

template <class T>
void CheckOwn(const T& /*o*/) {}

}  // namespace

RowOptions RowOptionsOf(const TableOptimizer& optimizer) {
  return std::visit(
      []<class T>(const T& o) {
        if constexpr (kHasRows<T>) return o.rows;
        return RowOptions();
      },
      optimizer);
}

double LearningRateOf(const TableOptimizer& optimizer) {
  return std::visit(
      []<class T>(const T& o) {
        if constexpr (kHasRows<T>) return o.learning_rate;
        return 1.0;
      },
      optimizer);
}

const Place& PlaceOf(const TableOptimizer& optimizer) {
  return std::visit([](const auto& o) -> const Place& { return o.place; }, optimizer);
}

std::string_view TypeOf(const TableOptimizer& optimizer) {
  return std::visit([]<class T>(const T& /*o*/) { return T::kType; }, optimizer);
}

void CheckOptions(const TableOptimizer& optimizer) {
  AtPlace(PlaceOf(optimizer), [&] {
    const RowOptions rows = RowOptionsOf(optimizer);
    if (!rows.use_gradient_accumulation && (rows.clip_gradient_min || rows.clip_gradient_max)) {
      RefuseArgument(
          "When using gradient clipping limits, gradient  accumulation must be enabled.");
    }
    std::visit([](const auto& o) { CheckOwn(o); }, optimizer);
  });
}

}  // namespace tpuest::nn
