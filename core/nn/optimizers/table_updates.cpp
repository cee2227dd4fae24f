#include "core/nn/optimizers/table_updates.h"

#include <limits>

#include "core/base/text.h"
#include "core/nn/optimizers/slots.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

// Some rows of a table with those of its slots, each [n, D].
struct RowState {
  Value w;
  std::vector<Value> slots;
};

// The rules: the state of rows after a gradient g [n, D], at a rate lr []. Each is the formula that
// stands beside its parameters (table_parameters.h).

RowState Next(const StochasticGradientDescentParameters& /*o*/, const RowState& old, Value g,
              Value lr) {
  return {ops::Sub(old.w, ops::Mul(g, lr)), {}};
}

RowState Next(const AdagradParameters& /*o*/, const RowState& old, Value g, Value lr) {
  const Value n = ops::AddV2(old.slots[0], ops::Square(g));
  return {ops::Sub(old.w, ops::RealDiv(ops::Mul(g, lr), ops::Sqrt(n))), {n}};
}

// The base to a power, by roots where they give it.
Value PowerOf(Value base, double power) {
  if (power == 0.5) return ops::Sqrt(base);
  if (power == 1) return base;
  return ops::Pow(base, power);
}

// What a decay leaves of 1, in float32 as TensorFlow's kernels have it.
double RestOf(double decay) { return static_cast<double>(1.0F - static_cast<float>(decay)); }

// The next of a decaying mean: decay mean + (1 - decay) x.
Value MeanWith(Value mean, Value x, double decay) {
  return ops::AddV2(ops::Mul(mean, decay), ops::Mul(x, RestOf(decay)));
}

RowState Next(const AdagradMomentumParameters& o, const RowState& old, Value g, Value lr) {
  const Value squares = ops::Square(g);
  const Value n =
      o.beta2 == 1 ? ops::AddV2(old.slots[0], squares) : MeanWith(old.slots[0], squares, o.beta2);
  const Value scaled = ops::RealDiv(g, PowerOf(ops::AddV2(n, o.epsilon), 1 / o.exponent));
  const Value m = ops::AddV2(ops::Mul(old.slots[1], o.momentum), scaled);
  const Value step = o.use_nesterov ? ops::AddV2(ops::Mul(m, o.momentum), scaled) : m;
  return {ops::Sub(old.w, ops::Mul(step, lr)), {n, m}};
}

// The weights under ProximalOptions, which are applied at `rate` [n, D].
Value Proximal(const ProximalOptions& o, Value w, Value rate) {
  if (o.l1_regularization_strength != 0) {
    const Value less = ops::Sub(ops::Abs(w), ops::Mul(rate, o.l1_regularization_strength));
    w = ops::Mul(ops::Sign(w), ops::Maximum(less, 0.0));
  }
  if (o.l2_regularization_strength == 0) return w;
  return ops::RealDiv(w, ops::AddV2(ops::Mul(rate, o.l2_regularization_strength), 1.0));
}

RowState Next(const ProximalAdagradParameters& o, const RowState& old, Value g, Value lr) {
  const Value n = ops::AddV2(old.slots[0], ops::Square(g));
  const Value rate = ops::RealDiv(lr, ops::Sqrt(n));
  return {Proximal(o.proximal, ops::Sub(old.w, ops::Mul(g, rate)), rate), {n}};
}

RowState Next(const AdamParameters& o, const RowState& old, Value g, Value lr) {
  const Value m = MeanWith(old.slots[0], g, o.beta1);
  const Value v = MeanWith(old.slots[1], ops::Square(g), o.beta2);
  const Value below = o.sum_inside_sqrt ? ops::Sqrt(ops::AddV2(v, o.epsilon * o.epsilon))
                                        : ops::AddV2(ops::Sqrt(v), o.epsilon);
  return {ops::Sub(old.w, ops::RealDiv(ops::Mul(m, lr), below)), {m, v}};
}

// The difference between x, clipped to [-most, most], and x.
Value ClippedLess(Value x, Value most) {
  return ops::Sub(ops::Maximum(ops::Minimum(x, most), ops::Neg(most)), x);
}

RowState Next(const FtrlParameters& o, const RowState& old, Value g, Value lr) {
  const Value n = ops::AddV2(old.slots[0], ops::Square(g));
  const Value root = PowerOf(n, -o.learning_rate_power);
  const Value grown = ops::Sub(root, PowerOf(old.slots[0], -o.learning_rate_power));
  const double l1 = o.proximal.l1_regularization_strength;
  const double l2 = o.proximal.l2_regularization_strength;
  const Value of_w = ops::Mul(grown, old.w);
  if (o.multiply_linear_by_learning_rate) {
    const Value linear = ops::AddV2(old.slots[1], ops::Sub(ops::Mul(g, lr), of_w));
    const Value below = ops::AddV2(ops::AddV2(root, o.beta), ops::Mul(lr, 2 * l2));
    return {ops::RealDiv(ClippedLess(linear, ops::Mul(lr, l1)), below), {n, linear}};
  }
  const Value linear = ops::AddV2(old.slots[1], ops::Sub(g, ops::RealDiv(of_w, lr)));
  const Value below = ops::AddV2(ops::RealDiv(ops::AddV2(root, o.beta), lr), 2 * l2);
  const Value most = g.graph().ScalarOf(DType::kFloat, l1);
  return {ops::RealDiv(ClippedLess(linear, most), below), {n, linear}};
}

RowState Next(const ProximalYogiParameters& o, const RowState& old, Value g, Value lr) {
  const Value squares = ops::Square(g);
  const Value grows = ops::Sign(ops::Sub(squares, old.slots[0]));
  const Value v = ops::AddV2(old.slots[0], ops::Mul(ops::Mul(grows, squares), RestOf(o.beta2)));
  const Value m = MeanWith(old.slots[1], g, o.beta1);
  const Value rate = ops::RealDiv(lr, ops::AddV2(ops::Sqrt(v), o.epsilon));
  return {Proximal(o.proximal, ops::Sub(old.w, ops::Mul(m, rate)), rate), {v, m}};
}

RowState Next(const MomentumParameters& o, const RowState& old, Value g, Value lr) {
  const Value m = ops::AddV2(ops::Mul(old.slots[0], o.momentum), g);
  const Value step = o.use_nesterov ? ops::AddV2(g, ops::Mul(m, o.momentum)) : m;
  return {ops::Sub(old.w, ops::Mul(step, lr)), {m}};
}

RowState Next(const RMSPropParameters& o, const RowState& old, Value g, Value lr) {
  const Value n =
      ops::AddV2(old.slots[0], ops::Mul(ops::Sub(ops::Square(g), old.slots[0]), RestOf(o.rho)));
  const Value step = ops::RealDiv(ops::Mul(g, lr), ops::Sqrt(ops::AddV2(n, o.epsilon)));
  const Value m = ops::AddV2(ops::Mul(old.slots[1], o.momentum), step);
  return {ops::Sub(old.w, m), {n, m}};
}

// Here the rate is the step, and the gradient says no more than that a row is there.
RowState Next(const FrequencyEstimatorParameters& o, const RowState& old, Value /*g*/, Value lr) {
  const Value distance = ops::Sub(lr, old.slots[0]);
  const Value counted = ops::Minimum(distance, o.max_delta);
  const Value outlier = ops::GreaterEqual(distance, ops::Mul(old.w, o.outlier_threshold));
  const Value mean = ops::AddV2(ops::Mul(old.w, RestOf(o.tau)), ops::Mul(counted, o.tau));
  return {ops::SelectV2(outlier, counted, mean), {ops::AddV2(ops::Mul(old.slots[0], 0.0), lr)}};
}

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// The elements of x between two bounds, those that there are.
Value Within(Value x, const std::optional<double>& least, const std::optional<double>& most) {
  if (!least && !most) return x;
  return ops::ClipByValue(x, least.value_or(-kNoLimit), most.value_or(kNoLimit));
}

// The weights without the part that decays.
Value DecayedWeights(const RowOptions& rows, Value w, Value lr) {
  const double factor = rows.weight_decay_factor.value_or(0);
  if (factor == 0) return w;
  Value part = ops::Mul(w, factor);
  if (rows.multiply_weight_decay_factor_by_learning_rate.value_or(false)) {
    part = ops::Mul(part, lr);
  }
  return ops::Sub(w, part);
}

// One update: all of it but the sum of gradients.
template <class Optimizer>
RowState Updated(const Optimizer& optimizer, const RowState& old, Value g, Value lr) {
  const RowOptions rows = RowOptionsOf(optimizer);
  RowState state = old;
  state.w = DecayedWeights(rows, old.w, lr);
  state = Next(optimizer, state, Within(g, rows.clip_gradient_min, rows.clip_gradient_max), lr);
  state.w = Within(state.w, rows.clip_weight_min, rows.clip_weight_max);
  return state;
}

// The variables of a table and its slots.
std::vector<const Variable*> VariablesOf(const TableOptimizer& optimizer, const Variable& table) {
  Graph& graph = table.handle.graph();
  std::vector<const Variable*> variables = {&table};
  for (const TableSlot& slot : SlotsOf(optimizer)) {
    Variable& variable = GetOrCreateSlot(graph, fmt::format("{}/{}", table.name, slot.ending),
                                         table.dtype, table.shape, slot.initial);
    variable.by_rows = table.by_rows;
    variable.table = table.table;
    variables.push_back(&variable);
  }
  return variables;
}

std::vector<Value> PartsOf(const RowState& state) {
  std::vector<Value> values = {state.w};
  values.insert(values.end(), state.slots.begin(), state.slots.end());
  return values;
}

// The new state where a row is `there`, bool [n], the old one elsewhere.
RowState Where(Value there, const RowState& updated, const RowState& old) {
  const Value condition = ops::ExpandDims(there, -1);
  RowState state{ops::SelectV2(condition, updated.w, old.w), {}};
  for (size_t i = 0; i < old.slots.size(); ++i) {
    state.slots.push_back(ops::SelectV2(condition, updated.slots[i], old.slots[i]));
  }
  return state;
}

std::vector<TableSlot> OwnSlots(const StochasticGradientDescentParameters& /*o*/) { return {}; }
std::vector<TableSlot> OwnSlots(const AdagradParameters& o) {
  return {{"Adagrad", o.initial_accumulator}};
}
std::vector<TableSlot> OwnSlots(const AdagradMomentumParameters& /*o*/) {
  return {{"AdagradMomentum/Accumulator"}, {"AdagradMomentum/Momentum"}};
}
std::vector<TableSlot> OwnSlots(const ProximalAdagradParameters& o) {
  return {{"ProximalAdagrad", o.initial_accumulator}};
}
std::vector<TableSlot> OwnSlots(const AdamParameters& /*o*/) { return {{"Adam/m"}, {"Adam/v"}}; }
std::vector<TableSlot> OwnSlots(const FtrlParameters& o) {
  return {{"Ftrl", o.initial_accumulator_value}, {"Ftrl_1"}};
}
std::vector<TableSlot> OwnSlots(const ProximalYogiParameters& o) {
  return {{"ProximalYogi", o.initial_accumulator_value}, {"ProximalYogi_1"}};
}
std::vector<TableSlot> OwnSlots(const MomentumParameters& /*o*/) { return {{"Momentum"}}; }
std::vector<TableSlot> OwnSlots(const RMSPropParameters& /*o*/) {
  return {{"RMSProp/ms"}, {"RMSProp/mom"}};
}
std::vector<TableSlot> OwnSlots(const FrequencyEstimatorParameters& /*o*/) {
  return {{"FrequencyEstimator"}};
}

}  // namespace

std::vector<TableSlot> SlotsOf(const TableOptimizer& optimizer) {
  return std::visit([](const auto& o) { return OwnSlots(o); }, optimizer);
}

Node* ApplyToRows(const TableOptimizer& optimizer, const Variable& table, Value rate,
                  const RowGradients& rows) {
  Graph& graph = table.handle.graph();
  const std::vector<const Variable*> variables = VariablesOf(optimizer, table);
  // Where there is no row (-1) row 0 stands in: the scatter leaves its result out.
  const Value there = ops::Maximum(rows.indices, graph.ScalarOf(rows.indices.dtype(), 0));
  RowState state;
  for (const Variable* const variable : variables) {
    const Value found = ops::GatherOwnRows(variable->handle, there);
    if (variable == &table) {
      state.w = found;
    } else {
      state.slots.push_back(found);
    }
  }
  for (size_t i = 0; i < rows.gradients.size(); ++i) {
    const RowState updated = std::visit(
        [&](const auto& o) { return Updated(o, state, rows.gradients[i], rate); }, optimizer);
    state = rows.there.empty() ? updated : Where(rows.there[i], updated, state);
  }
  const std::vector<Value> values = PartsOf(state);
  std::vector<Node*> writes;
  for (size_t i = 0; i < variables.size(); ++i) {
    writes.push_back(ops::ResourceScatterUpdate(variables[i]->handle, rows.indices, values[i]));
  }
  return ops::NoOp(graph, writes);
}

Node* ApplyToAll(const AdamParameters& optimizer, const Variable& table, Value rate, Value gradient,
                 Value there) {
  const std::vector<const Variable*> variables = VariablesOf(optimizer, table);
  const RowState old{table.value, {variables[1]->value, variables[2]->value}};
  AdamParameters unbounded = optimizer;
  unbounded.rows = {};
  const RowState state = Where(there, Updated(optimizer, old, gradient, rate),
                               Updated(unbounded, old, gradient, rate));
  const std::vector<Value> values = PartsOf(state);
  std::vector<Node*> writes;
  for (size_t i = 0; i < variables.size(); ++i) {
    writes.push_back(ops::AssignVariableOp(variables[i]->handle, values[i]));
  }
  return ops::NoOp(table.handle.graph(), writes);
}

}  // namespace tpuest::nn
