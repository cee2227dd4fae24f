#include "core/nn/optimizers/keras_updates.h"

#include <type_traits>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/nn/optimizers/slots.h"
#include "core/nn/optimizers/unique_rows.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"
#include "core/ops/training.h"

namespace tpuest::nn {
namespace {

// The inputs of one variable's update.
struct Step {
  const KerasState& state;
  const Variable& variable;
  Value beta_1_power, beta_2_power;  // Adam

  [[nodiscard]] Graph& graph() const { return state.graph; }
  [[nodiscard]] Value rate() const { return state.learning_rate; }
  [[nodiscard]] Value Number(double value, std::string_view name) const {
    return state.graph.ScalarOf(variable.dtype, value, name);
  }
  // A slot, "training/Ftrl/dense/kernel/accumulator", made if there is none.
  [[nodiscard]] Variable& Slot(std::string_view slot, double initial = 0.0) const {
    return GetOrCreateSlot(state.graph, fmt::format("{}/{}/{}", state.name, variable.name, slot),
                           variable.dtype, variable.shape, initial);
  }
};

// The next value of a decaying sum: a * factor + b.
Value Decayed(Value a, double factor, Value b) { return ops::AddV2(ops::Mul(a, factor), b); }

// The number 1 - x in float32, as Keras computes it.
double OneLess(double x) { return static_cast<double>(1.0F - static_cast<float>(x)); }

// The rows spread over a tensor of the variable's shape, zero elsewhere.
Value Spread(const Step& step, Value values, Value indices) {
  return ToDense(IndexedSlices{values, indices, step.variable.shape.dim(0)});
}

// ---- SGD ----------------------------------------------------------------------------------------

ops::MomentumInputs Inputs(const SGD& o, const Step& step, Value gradient) {
  return {.var = step.variable.handle,
          .accum = step.Slot("momentum").handle,
          .lr = step.rate(),
          .grad = gradient,
          .momentum = step.Number(o.momentum, "momentum"),
          .use_nesterov = o.nesterov};
}

Node* Dense(const SGD& o, const Step& step, Value gradient) {
  if (o.momentum == 0.0) {
    return ops::ResourceApplyGradientDescent(step.variable.handle, step.rate(), gradient);
  }
  return ops::ResourceApplyKerasMomentum(Inputs(o, step, gradient));
}

Node* Sparse(const SGD& o, const Step& step, const IndexedSlices& slices) {
  if (o.momentum == 0.0) {
    return ops::ResourceScatterAdd(step.variable.handle, slices.indices,
                                   ops::Mul(ops::Neg(slices.values), step.rate()));
  }
  const UniqueRows rows = SumDuplicates(slices);
  return ops::ResourceSparseApplyKerasMomentum(Inputs(o, step, rows.sums), rows.indices);
}

// ---- Adam ---------------------------------------------------------------------------------------

Node* Dense(const Adam& o, const Step& step, Value gradient) {
  return ops::ResourceApplyAdam({.var = step.variable.handle,
                                 .m = step.Slot("m").handle,
                                 .v = step.Slot("v").handle,
                                 .beta1_power = step.beta_1_power,
                                 .beta2_power = step.beta_2_power,
                                 .lr = step.rate(),
                                 .beta1 = step.Number(o.decays.beta_1, "beta_1"),
                                 .beta2 = step.Number(o.decays.beta_2, "beta_2"),
                                 .epsilon = step.Number(o.epsilon, "epsilon"),
                                 .grad = gradient});
}

Node* Sparse(const Adam& o, const Step& step, const IndexedSlices& slices) {
  const UniqueRows rows = SumDuplicates(slices);
  const Variable& m = step.Slot("m");
  const Variable& v = step.Slot("v");
  const Value of_m = Spread(step, ops::Mul(rows.sums, OneLess(o.decays.beta_1)), rows.indices);
  const Value of_v = Spread(
      step, ops::Mul(ops::Mul(rows.sums, rows.sums), OneLess(o.decays.beta_2)), rows.indices);
  const Value next_m = Decayed(m.value, o.decays.beta_1, of_m);
  const Value next_v = Decayed(v.value, o.decays.beta_2, of_v);
  const Value one = step.Number(1.0, "one");
  const Value rate = ops::Mul(step.rate(), ops::RealDiv(ops::Sqrt(ops::Sub(one, step.beta_2_power)),
                                                        ops::Sub(one, step.beta_1_power)));
  const Value moved =
      ops::RealDiv(ops::Mul(rate, next_m), ops::AddV2(ops::Sqrt(next_v), o.epsilon));
  return ops::NoOp(step.graph(), {ops::AssignSubVariableOp(step.variable.handle, moved),
                                  ops::AssignVariableOp(m.handle, next_m),
                                  ops::AssignVariableOp(v.handle, next_v)});
}

// ---- RMSprop ------------------------------------------------------------------------------------

ops::RMSPropInputs Inputs(const RMSprop& o, const Step& step, Value gradient) {
  return {.var = step.variable.handle,
          .ms = step.Slot("rms").handle,
          .mom = step.Slot("momentum").handle,
          .lr = step.rate(),
          .rho = step.Number(o.rho, "rho"),
          .momentum = step.Number(o.momentum, "momentum"),
          .epsilon = step.Number(o.epsilon, "epsilon"),
          .grad = gradient,
          .mg = o.centered ? step.Slot("mg").handle : Value()};
}

// The next rms and mg (centered), without momentum: made of what is added to the old ones, and what
// writes them.
struct NextMeans {
  Value rms, mg;
  std::vector<Node*> writes;
};
NextMeans Means(const RMSprop& o, const Step& step, Value of_rms, Value of_mg) {
  const Variable& rms = step.Slot("rms");
  NextMeans next{Decayed(rms.value, o.rho, of_rms), {}, {}};
  next.writes.push_back(ops::AssignVariableOp(rms.handle, next.rms));
  if (!o.centered) return next;
  const Variable& mg = step.Slot("mg");
  next.mg = Decayed(mg.value, o.rho, of_mg);
  next.writes.push_back(ops::AssignVariableOp(mg.handle, next.mg));
  return next;
}

// The step of a variable: lr gradient / (sqrt(rms - mg^2) + epsilon).
Value Moved(const RMSprop& o, const Step& step, Value gradient, Value rms, Value mg) {
  const Value variance = o.centered ? ops::Sub(rms, ops::Square(mg)) : rms;
  return ops::RealDiv(ops::Mul(gradient, step.rate()), ops::AddV2(ops::Sqrt(variance), o.epsilon));
}

Node* Dense(const RMSprop& o, const Step& step, Value gradient) {
  if (o.momentum != 0.0) {
    const ops::RMSPropInputs inputs = Inputs(o, step, gradient);
    return o.centered ? ops::ResourceApplyCenteredRMSProp(inputs)
                      : ops::ResourceApplyRMSProp(inputs);
  }
  const double rest = OneLess(o.rho);
  NextMeans next = Means(o, step, ops::Mul(ops::Square(gradient), rest), ops::Mul(gradient, rest));
  next.writes.push_back(
      ops::AssignSubVariableOp(step.variable.handle, Moved(o, step, gradient, next.rms, next.mg)));
  return ops::NoOp(step.graph(), next.writes);
}

Node* Sparse(const RMSprop& o, const Step& step, const IndexedSlices& slices) {
  const UniqueRows rows = SumDuplicates(slices);
  if (o.momentum != 0.0) {
    const ops::RMSPropInputs inputs = Inputs(o, step, rows.sums);
    return o.centered ? ops::ResourceSparseApplyCenteredRMSProp(inputs, rows.indices)
                      : ops::ResourceSparseApplyRMSProp(inputs, rows.indices);
  }
  const double rest = OneLess(o.rho);
  const Value of_rms = Spread(step, ops::Mul(ops::Mul(rows.sums, rows.sums), rest), rows.indices);
  const Value of_mg = o.centered ? Spread(step, ops::Mul(rows.sums, rest), rows.indices) : Value();
  NextMeans next = Means(o, step, of_rms, of_mg);
  // Where there is no row (-1) row 0 stands in: the scatter leaves its result out.
  const Value there = ops::Maximum(rows.indices, step.graph().ScalarOf(rows.indices.dtype(), 0));
  const Value rms = ops::GatherV2(next.rms, there);
  const Value mg = o.centered ? ops::GatherV2(next.mg, there) : Value();
  next.writes.push_back(ops::ResourceScatterSub(step.variable.handle, rows.indices,
                                                Moved(o, step, rows.sums, rms, mg)));
  return ops::NoOp(step.graph(), next.writes);
}

// ---- Adagrad ------------------------------------------------------------------------------------

ops::AdagradInputs Inputs(const Adagrad& o, const Step& step, Value gradient) {
  return {.var = step.variable.handle,
          .accum = step.Slot("accumulator", o.initial_accumulator_value).handle,
          .lr = step.rate(),
          .grad = gradient,
          .epsilon = step.Number(o.epsilon, "epsilon")};
}

Node* Dense(const Adagrad& o, const Step& step, Value gradient) {
  return ops::ResourceApplyAdagradV2(Inputs(o, step, gradient));
}

Node* Sparse(const Adagrad& o, const Step& step, const IndexedSlices& slices) {
  const UniqueRows rows = SumDuplicates(slices);
  return ops::ResourceSparseApplyAdagradV2(Inputs(o, step, rows.sums), rows.indices);
}

// ---- Ftrl ---------------------------------------------------------------------------------------

// The paper's beta comes in as a part of l2: l2 + beta / (2 lr).
Value L2WithBeta(const Ftrl& o, const Step& step) {
  const Value l2 = step.Number(o.ftrl.l2_regularization_strength, "l2_regularization_strength");
  if (o.ftrl.beta == 0.0) return l2;
  return ops::AddV2(l2, ops::RealDiv(step.Number(o.ftrl.beta, "beta"), ops::Mul(step.rate(), 2.0)));
}

ops::FtrlInputs Inputs(const Ftrl& o, const Step& step, Value gradient) {
  ops::FtrlInputs inputs{
      .var = step.variable.handle,
      .accum = step.Slot("accumulator", o.ftrl.initial_accumulator_value).handle,
      .linear = step.Slot("linear").handle,
      .grad = gradient,
      .lr = step.rate(),
      .l1 = step.Number(o.ftrl.l1_regularization_strength, "l1_regularization_strength"),
      .l2 = L2WithBeta(o, step),
      .lr_power = step.Number(o.ftrl.learning_rate_power, "learning_rate_power")};
  if (o.ftrl.l2_shrinkage_regularization_strength > 0.0) {
    inputs.l2_shrinkage = step.Number(o.ftrl.l2_shrinkage_regularization_strength,
                                      "l2_shrinkage_regularization_strength");
  }
  return inputs;
}

Node* Dense(const Ftrl& o, const Step& step, Value gradient) {
  const ops::FtrlInputs inputs = Inputs(o, step, gradient);
  return inputs.l2_shrinkage.valid() ? ops::ResourceApplyFtrlV2(inputs)
                                     : ops::ResourceApplyFtrl(inputs);
}

Node* Sparse(const Ftrl& o, const Step& step, const IndexedSlices& slices) {
  const UniqueRows rows = SumDuplicates(slices);
  const ops::FtrlInputs inputs = Inputs(o, step, rows.sums);
  return inputs.l2_shrinkage.valid() ? ops::ResourceSparseApplyFtrlV2(inputs, rows.indices)
                                     : ops::ResourceSparseApplyFtrl(inputs, rows.indices);
}

// ---- arguments ----------------------------------------------------------------------------------

void RequireZeroOrMore(std::string_view name, double value) {
  if (value < 0.0) {
    throw Error(Code::kUsage, fmt::format("`{0}` needs to be positive or zero. Received: {0}={1}.",
                                          name, NumberText(value)));
  }
}

void RequireMomentum(double momentum) {
  if (momentum < 0.0 || momentum > 1.0) {
    throw Error(Code::kUsage,
                fmt::format("`momentum` must be between [0, 1]. Received: momentum={}.",
                            NumberText(momentum)));
  }
}

void CheckArguments(const SGD& o) { RequireMomentum(o.momentum); }
void CheckArguments(const Adam& /*o*/) {}
void CheckArguments(const RMSprop& o) { RequireMomentum(o.momentum); }

void CheckArguments(const Adagrad& o) {
  if (o.initial_accumulator_value < 0.0) {
    throw Error(Code::kUsage, fmt::format("initial_accumulator_value must be non-negative: {}",
                                          NumberText(o.initial_accumulator_value)));
  }
}

void CheckArguments(const Ftrl& o) {
  RequireZeroOrMore("initial_accumulator_value", o.ftrl.initial_accumulator_value);
  if (o.ftrl.learning_rate_power > 0.0) {
    throw Error(Code::kUsage,
                fmt::format("`learning_rate_power` needs to be negative or zero. Received: "
                            "learning_rate_power={}.",
                            NumberText(o.ftrl.learning_rate_power)));
  }
  RequireZeroOrMore("l1_regularization_strength", o.ftrl.l1_regularization_strength);
  RequireZeroOrMore("l2_regularization_strength", o.ftrl.l2_regularization_strength);
  RequireZeroOrMore("l2_shrinkage_regularization_strength",
                    o.ftrl.l2_shrinkage_regularization_strength);
}

void CheckCommon(const KerasOptions& o) {
  const std::pair<std::string_view, std::optional<double>> arguments[] = {
      {"decay", o.decay},
      {"clipvalue", o.clipvalue},
      {"clipnorm", o.clipnorm},
      {"global_clipnorm", o.global_clipnorm}};
  for (const auto& [name, value] : arguments) {
    if (value.value_or(0.0) < 0.0) {
      throw Error(Code::kUsage,
                  fmt::format("Expected {} >= 0, received: {}", name, NumberText(*value)));
    }
  }
  if (o.clipnorm && o.global_clipnorm) {
    throw Error(Code::kUsage,
                fmt::format("Cannot accept both `clipnorm` and `global_clipnorm`. Received: "
                            "`clipnorm`={}, `global_clipnorm`={}.",
                            NumberText(*o.clipnorm), NumberText(*o.global_clipnorm)));
  }
}

// ---- numbers ------------------------------------------------------------------------------------

using Numbers = std::vector<std::pair<std::string_view, double>>;

Numbers NumbersOf(const SGD& o) { return {{"momentum", o.momentum}}; }
Numbers NumbersOf(const Adam& o) {
  return {{"beta_1", o.decays.beta_1}, {"beta_2", o.decays.beta_2}};
}
Numbers NumbersOf(const RMSprop& o) { return {{"momentum", o.momentum}, {"rho", o.rho}}; }
Numbers NumbersOf(const Adagrad& /*o*/) { return {}; }
Numbers NumbersOf(const Ftrl& o) {
  return {{"beta", o.ftrl.beta},
          {"l1_regularization_strength", o.ftrl.l1_regularization_strength},
          {"l2_regularization_strength", o.ftrl.l2_regularization_strength},
          {"learning_rate_power", o.ftrl.learning_rate_power}};
}

}  // namespace

std::string_view NameOf(const KerasOptimizer& optimizer) {
  return std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kType; }, optimizer);
}

const KerasOptions& OptionsOf(const KerasOptimizer& optimizer) {
  return std::visit([](const auto& o) -> const KerasOptions& { return o.options; }, optimizer);
}

const Place& PlaceOf(const KerasOptimizer& optimizer) {
  return std::visit([](const auto& o) -> const Place& { return o.place; }, optimizer);
}

LearningRate RateOf(const KerasOptimizer& optimizer, std::optional<double> fallback) {
  const double standard =
      std::visit([](const auto& o) { return std::decay_t<decltype(o)>::kLearningRate; }, optimizer);
  return OptionsOf(optimizer).learning_rate.value_or(fallback.value_or(standard));
}

void CheckOptions(const KerasOptimizer& optimizer) {
  CheckCommon(OptionsOf(optimizer));
  std::visit([](const auto& o) { CheckArguments(o); }, optimizer);
}

void SaveNumbers(const KerasOptimizer& optimizer, const KerasState& state,
                 const LearningRate& rate) {
  Numbers numbers = std::visit([](const auto& o) { return NumbersOf(o); }, optimizer);
  numbers.emplace_back("decay", OptionsOf(optimizer).decay);
  if (const auto* const fixed = std::get_if<double>(&rate)) {
    numbers.emplace_back("learning_rate", *fixed);
  }
  for (const auto& [name, value] : numbers) {
    GetOrCreateSlot(state.graph, fmt::format("{}/{}", state.name, name), DType::kFloat, Shape(),
                    value)
        .from_job = true;
  }
}

KerasUpdates::KerasUpdates(const KerasOptimizer& optimizer, KerasState state)
    : optimizer_(optimizer), state_(std::move(state)) {
  const auto* const adam = std::get_if<Adam>(&optimizer);
  if (adam == nullptr) return;
  const Value step = ops::AddV2(ops::Cast(state_.iterations, DType::kFloat), 1.0);
  beta_1_power_ = ops::Pow(state_.graph.ScalarOf(DType::kFloat, adam->decays.beta_1), step);
  beta_2_power_ = ops::Pow(state_.graph.ScalarOf(DType::kFloat, adam->decays.beta_2), step);
}

Node* KerasUpdates::Apply(const Variable& variable, const Gradient& gradient) const {
  const Step step{state_, variable, beta_1_power_, beta_2_power_};
  const auto* const slices = std::get_if<IndexedSlices>(&gradient);
  return std::visit(
      [&](const auto& o) {
        return slices != nullptr ? Sparse(o, step, *slices)
                                 : Dense(o, step, std::get<Value>(gradient));
      },
      optimizer_);
}

}  // namespace tpuest::nn
