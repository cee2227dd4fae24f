#include "core/nn/optimizers/moving_average.h"

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/nn/global_step.h"
#include "core/nn/optimizers/optimizer_updates.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

Value ValueAfter(const Variable& variable, Node* updated) {
  const Value value = ops::ReadVariableOp(variable.handle);
  value.node->AddControlInput(updated);
  return value;
}

// The share that a shadow takes of its variable, float32 []: 1 - decay, as assign_moving_average
// takes it.
Value ShareOfVariable(Graph& graph, const ExponentialMovingAverage& options, Node* updated) {
  Value decay = graph.ScalarOf(DType::kFloat, options.decay, "decay");
  if (options.num_updates) {
    const Value step = ValueAfter(*GetOrCreateGlobalStep(graph), updated);
    const Value updates = ops::Cast(step, DType::kFloat, "num_updates");
    decay = ops::Minimum(decay, ops::RealDiv(ops::AddV2(updates, 1.0), ops::AddV2(updates, 10.0)));
  }
  return ops::Sub(1.0, decay);
}

}  // namespace

std::string AverageName(std::string_view variable, std::string_view slot_scope) {
  return SlotName(variable, kAverageSlot, {.slot_scope = std::string(slot_scope)});
}

std::vector<const Variable*> TrainedVariables(const Graph& graph) {
  std::vector<const Variable*> trained;
  for (const auto& variable : graph.variables()) {
    if (variable->trainable && !variable->local) trained.push_back(variable.get());
  }
  return trained;
}

Node* ApplyAverages(Graph& graph, const KeptAverage& average, Node* updated) {
  const ExponentialMovingAverage& options = *average.options;
  if (!(options.decay >= 0 && options.decay <= 1)) {
    throw Error(Code::kUsage,
                fmt::format("exponential_moving_average: decay is {}, expected 0 to 1",
                            NumberText(options.decay)));
  }
  std::vector<std::pair<const Variable*, const Variable*>> pairs;
  for (const Variable* const variable : average.variables) {
    pairs.emplace_back(variable, graph.AddVariable(AverageName(variable->name, average.slot_scope),
                                                   variable->dtype, variable->shape,
                                                   variable->initial_value, {.trainable = false}));
  }
  const NameScope scope(graph, kAverageSlot);
  const Value share = ShareOfVariable(graph, options, updated);
  std::vector<Node*> updates;
  for (const auto& [variable, shadow] : pairs) {
    const Value difference = ops::Sub(shadow->value, ValueAfter(*variable, updated));
    updates.push_back(ops::AssignSubVariableOp(
        shadow->handle, ops::Mul(difference, ops::Cast(share, variable->dtype))));
  }
  return ops::NoOp(graph, updates, "apply");
}

std::map<std::string, std::string> AveragesToRestore(const KeptAverage& average) {
  std::map<std::string, std::string> names;
  for (const Variable* const variable : average.variables) {
    names[variable->name] = AverageName(variable->name, average.slot_scope);
  }
  return names;
}

}  // namespace tpuest::nn
