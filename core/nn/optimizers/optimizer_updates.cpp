#include "core/nn/optimizers/optimizer_updates.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/nn/name_patterns.h"
#include "core/nn/optimizers/slots.h"
#include "core/nn/optimizers/unique_rows.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "core/ops/training.h"

namespace tpuest::nn {
namespace {

Value Number(const Update& update, double value, std::string_view name) {
  return update.graph.ScalarOf(update.variable.dtype, value, name);
}

// The slot of the updated variable, made if there is none.
Variable& Slot(const Update& update, std::string_view slot, double initial = 0.0) {
  return GetOrCreateSlot(update.graph, SlotName(update.variable.name, slot, update.names),
                         update.variable.dtype, update.variable.shape, initial);
}

// One of Adam's powers: a float32 scalar that is no variable's slot.
Variable& Power(Graph& graph, const OptimizerNames& names, std::string_view name, double initial) {
  const std::string full_name =
      fmt::format("{}{}{}", names.power_beginning, name, names.power_ending);
  return GetOrCreateSlot(graph, full_name, DType::kFloat, Shape(), initial);
}

// ---- dense --------------------------------------------------------------------------------------

Node* Dense(const GradientDescentOptimizer& /*o*/, const Update& u, Value gradient) {
  return ops::ResourceApplyGradientDescent(u.variable.handle, u.learning_rate, gradient);
}

ops::MomentumInputs Inputs(const MomentumOptimizer& o, const Update& u, Value gradient) {
  return {.var = u.variable.handle,
          .accum = Slot(u, "Momentum").handle,
          .lr = u.learning_rate,
          .grad = gradient,
          .momentum = Number(u, o.momentum, "momentum"),
          .use_nesterov = o.use_nesterov};
}

Node* Dense(const MomentumOptimizer& o, const Update& u, Value gradient) {
  return ops::ResourceApplyMomentum(Inputs(o, u, gradient));
}

Node* Dense(const AdamOptimizer& o, const Update& u, Value gradient) {
  return ops::ResourceApplyAdam(
      {.var = u.variable.handle,
       .m = Slot(u, "Adam").handle,
       .v = Slot(u, "Adam_1").handle,
       .beta1_power = Power(u.graph, u.names, "beta1_power", o.beta1).value,
       .beta2_power = Power(u.graph, u.names, "beta2_power", o.beta2).value,
       .lr = u.learning_rate,
       .beta1 = Number(u, o.beta1, "beta1"),
       .beta2 = Number(u, o.beta2, "beta2"),
       .epsilon = Number(u, o.epsilon, "epsilon"),
       .grad = gradient});
}

ops::AdagradInputs Inputs(const AdagradOptimizer& o, const Update& u, Value gradient) {
  return {.var = u.variable.handle,
          .accum = Slot(u, "Adagrad", o.initial_accumulator_value).handle,
          .lr = u.learning_rate,
          .grad = gradient};
}

Node* Dense(const AdagradOptimizer& o, const Update& u, Value gradient) {
  return ops::ResourceApplyAdagrad(Inputs(o, u, gradient));
}

ops::RMSPropInputs Inputs(const RMSPropOptimizer& o, const Update& u, Value gradient) {
  ops::RMSPropInputs inputs{.var = u.variable.handle,
                            .ms = Slot(u, "RMSProp", 1.0).handle,
                            .mom = Slot(u, o.centered ? "RMSProp_2" : "RMSProp_1").handle,
                            .lr = u.learning_rate,
                            .rho = Number(u, o.decay, "decay"),
                            .momentum = Number(u, o.momentum, "momentum"),
                            .epsilon = Number(u, o.epsilon, "epsilon"),
                            .grad = gradient};
  if (o.centered) inputs.mg = Slot(u, "RMSProp_1").handle;
  return inputs;
}

Node* Dense(const RMSPropOptimizer& o, const Update& u, Value gradient) {
  const ops::RMSPropInputs inputs = Inputs(o, u, gradient);
  return o.centered ? ops::ResourceApplyCenteredRMSProp(inputs) : ops::ResourceApplyRMSProp(inputs);
}

// The paper's beta comes in as a part of l2: l2 + beta / (2 lr).
Value L2WithBeta(const FtrlOptimizer& o, const Update& u) {
  const Value l2 = Number(u, o.ftrl.l2_regularization_strength, "l2_regularization_strength");
  if (o.ftrl.beta == 0.0) return l2;
  const Value rate = ops::Mul(ops::Maximum(u.learning_rate, 1e-36), 2.0);
  return ops::AddV2(ops::RealDiv(o.ftrl.beta, rate), l2);
}

ops::FtrlInputs Inputs(const FtrlOptimizer& o, const Update& u, Value gradient) {
  ops::FtrlInputs inputs{
      .var = u.variable.handle,
      .accum = Slot(u, "Ftrl", o.ftrl.initial_accumulator_value).handle,
      .linear = Slot(u, "Ftrl_1").handle,
      .grad = gradient,
      .lr = u.learning_rate,
      .l1 = Number(u, o.ftrl.l1_regularization_strength, "l1_regularization_strength"),
      .l2 = L2WithBeta(o, u),
      .lr_power = Number(u, o.ftrl.learning_rate_power, "learning_rate_power")};
  if (o.ftrl.l2_shrinkage_regularization_strength > 0.0) {
    inputs.l2_shrinkage = Number(u, o.ftrl.l2_shrinkage_regularization_strength,
                                 "l2_shrinkage_regularization_strength");
  }
  return inputs;
}

Node* Dense(const FtrlOptimizer& o, const Update& u, Value gradient) {
  const ops::FtrlInputs inputs = Inputs(o, u, gradient);
  return inputs.l2_shrinkage.valid() ? ops::ResourceApplyFtrlV2(inputs)
                                     : ops::ResourceApplyFtrl(inputs);
}

Value Norm(Value x) { return ops::Sqrt(ops::Sum(ops::Square(x))); }

// The rate of one variable, and its gradient with weight decay.
std::pair<Value, Value> LarsRateAndGradient(const LARSOptimizer& o, const Update& u,
                                            Value gradient) {
  const bool skipped = std::any_of(
      o.skip_list.begin(), o.skip_list.end(),
      [&](const std::string& part) { return u.variable.name.find(part) != std::string::npos; });
  if (skipped) return {u.learning_rate, gradient};
  const Value weights = u.variable.value;
  const Value zero = Number(u, 0.0, "zero");
  const Value one = Number(u, 1.0, "one");
  const Value w_norm = Norm(weights);
  const Value g_norm = Norm(gradient);
  const Value below = ops::AddV2(ops::AddV2(g_norm, ops::Mul(w_norm, o.weight_decay)), o.epsilon);
  const Value trust = ops::RealDiv(ops::Mul(w_norm, o.eeta), below);
  const Value both = ops::LogicalAnd(ops::Greater(w_norm, zero), ops::Greater(g_norm, zero));
  return {ops::Mul(u.learning_rate, ops::SelectV2(both, trust, one)),
          ops::AddV2(gradient, ops::Mul(weights, o.weight_decay))};
}

Node* Dense(const LARSOptimizer& o, const Update& u, Value gradient) {
  const auto [rate, decayed] = LarsRateAndGradient(o, u, gradient);
  return ops::ResourceApplyMomentum({.var = u.variable.handle,
                                     .accum = Slot(u, "LARSOptimizer").handle,
                                     .lr = rate,
                                     .grad = decayed,
                                     .momentum = Number(u, o.momentum, "momentum"),
                                     .use_nesterov = o.use_nesterov});
}

// The next value of a decaying mean: decay * mean + (1 - decay) * x.
Value Mix(Value mean, Value x, double decay) {
  return ops::AddV2(ops::Mul(mean, decay), ops::Mul(x, 1.0 - decay));
}

Node* Dense(const AdamWeightDecayOptimizer& o, const Update& u, Value gradient) {
  const Variable& m = Slot(u, "adam_m");
  const Variable& v = Slot(u, "adam_v");
  const Value next_m = Mix(m.value, gradient, o.decays.beta_1);
  const Value next_v = Mix(v.value, ops::Square(gradient), o.decays.beta_2);
  Value step = ops::RealDiv(next_m, ops::AddV2(ops::Sqrt(next_v), o.epsilon));
  const bool decays = o.weight_decay_rate != 0.0 &&
                      !NamePatterns(o.exclude_from_weight_decay).Match(u.variable.name);
  if (decays) step = ops::AddV2(step, ops::Mul(u.variable.value, o.weight_decay_rate));
  const Value next = ops::Sub(u.variable.value, ops::Mul(step, u.learning_rate));
  return ops::NoOp(
      u.graph, {ops::AssignVariableOp(u.variable.handle, next),
                ops::AssignVariableOp(m.handle, next_m), ops::AssignVariableOp(v.handle, next_v)});
}

// ---- sparse -------------------------------------------------------------------------------------

Node* Sparse(const GradientDescentOptimizer& /*o*/, const Update& u, const IndexedSlices& slices) {
  return ops::ResourceScatterSub(u.variable.handle, slices.indices,
                                 ops::Mul(slices.values, u.learning_rate));
}

Node* Sparse(const MomentumOptimizer& o, const Update& u, const IndexedSlices& slices) {
  const UniqueRows rows = SumDuplicates(slices);
  return ops::ResourceSparseApplyMomentum(Inputs(o, u, rows.sums), rows.indices);
}

Node* Sparse(const RMSPropOptimizer& o, const Update& u, const IndexedSlices& slices) {
  const UniqueRows rows = SumDuplicates(slices);
  const ops::RMSPropInputs inputs = Inputs(o, u, rows.sums);
  return o.centered ? ops::ResourceSparseApplyCenteredRMSProp(inputs, rows.indices)
                    : ops::ResourceSparseApplyRMSProp(inputs, rows.indices);
}

Node* Sparse(const AdagradOptimizer& o, const Update& u, const IndexedSlices& slices) {
  const UniqueRows rows = SumDuplicates(slices);
  return ops::ResourceSparseApplyAdagrad(Inputs(o, u, rows.sums), rows.indices);
}

Node* Sparse(const FtrlOptimizer& o, const Update& u, const IndexedSlices& slices) {
  const UniqueRows rows = SumDuplicates(slices);
  const ops::FtrlInputs inputs = Inputs(o, u, rows.sums);
  return inputs.l2_shrinkage.valid() ? ops::ResourceSparseApplyFtrlV2(inputs, rows.indices)
                                     : ops::ResourceSparseApplyFtrl(inputs, rows.indices);
}

template <class Optimizer>
Node* Sparse(const Optimizer& o, const Update& u, const IndexedSlices& slices) {
  return Dense(o, u, ToDense(slices));
}

// ---- arguments ----------------------------------------------------------------------------------

void RequireNotNegative(std::string_view name, double value) {
  if (value < 0.0) {
    throw Error(Code::kUsage,
                fmt::format("{} {} needs to be positive or zero", name, NumberText(value)));
  }
}

void CheckArguments(const FtrlOptimizer& o) {
  RequireNotNegative("initial_accumulator_value", o.ftrl.initial_accumulator_value);
  RequireNotNegative("l1_regularization_strength", o.ftrl.l1_regularization_strength);
  RequireNotNegative("l2_regularization_strength", o.ftrl.l2_regularization_strength);
  RequireNotNegative("l2_shrinkage_regularization_strength",
                     o.ftrl.l2_shrinkage_regularization_strength);
  if (o.ftrl.learning_rate_power > 0.0) {
    throw Error(Code::kUsage, fmt::format("learning_rate_power {} needs to be negative or zero",
                                          NumberText(o.ftrl.learning_rate_power)));
  }
}

void CheckArguments(const AdagradOptimizer& o) {
  if (o.initial_accumulator_value <= 0.0) {
    throw Error(Code::kUsage, fmt::format("initial_accumulator_value must be positive: {}",
                                          NumberText(o.initial_accumulator_value)));
  }
}

template <class Optimizer>
void CheckArguments(const Optimizer& /*o*/) {}

}  // namespace

std::string SlotName(std::string_view variable, std::string_view slot,
                     const OptimizerNames& names) {
  return names.slot_scope.empty() ? fmt::format("{}/{}", variable, slot)
                                  : fmt::format("{}/{}/{}", variable, names.slot_scope, slot);
}

Node* ApplyDense(const AnyOptimizer& optimizer, const Update& update, Value gradient) {
  return std::visit([&](const auto& o) { return Dense(o, update, gradient); }, optimizer);
}

Node* ApplySparse(const AnyOptimizer& optimizer, const Update& update,
                  const IndexedSlices& gradient) {
  return std::visit([&](const auto& o) { return Sparse(o, update, gradient); }, optimizer);
}

std::vector<Node*> Finish(const AnyOptimizer& optimizer, Graph& graph,
                          const OptimizerNames& names) {
  const auto* const adam = std::get_if<AdamOptimizer>(&optimizer);
  if (adam == nullptr) return {};
  const Variable& power1 = Power(graph, names, "beta1_power", adam->beta1);
  const Variable& power2 = Power(graph, names, "beta2_power", adam->beta2);
  return {ops::AssignVariableOp(power1.handle, ops::Mul(power1.value, adam->beta1)),
          ops::AssignVariableOp(power2.handle, ops::Mul(power2.value, adam->beta2))};
}

void CheckOptions(const AnyOptimizer& optimizer) {
  std::visit([](const auto& o) { CheckArguments(o); }, optimizer);
}

}  // namespace tpuest::nn
