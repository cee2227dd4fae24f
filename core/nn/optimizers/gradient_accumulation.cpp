#include "core/nn/optimizers/gradient_accumulation.h"

#include <algorithm>

#include "core/nn/global_step.h"
#include "core/nn/optimizers/slots.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"

namespace tpuest::nn {
namespace {

constexpr std::string_view kAccumulatorSlot = "GradientAccumulator";

// The gradient of the whole variable over all replicas.
Value Whole(const Trained& trained) {
  const auto* const slices = std::get_if<IndexedSlices>(&trained.gradient);
  if (slices == nullptr) return std::get<Value>(trained.gradient);
  const Value own = ToDense(*slices);
  return trained.replicas > 1 ? ops::CrossReplicaSum(own, trained.replicas) : own;
}

bool IsUpdatedBy(const Variable& variable, const Node& node) {
  const bool updates_it = std::ranges::find(node.inputs(), variable.handle) != node.inputs().end();
  return updates_it ||
         (node.only_orders() && std::ranges::any_of(node.control_inputs(), [&](const Node* before) {
            return IsUpdatedBy(variable, *before);
          }));
}

}  // namespace

GradientAccumulation::GradientAccumulation(Graph& graph, int64_t steps, const OptimizerNames& names,
                                           std::vector<Trained>& trained)
    : graph_(graph) {
  const NameScope scope(graph, "gradient_accumulation");
  const Value step = GetOrCreateGlobalStep(graph)->value;
  const Value place = ops::FloorMod(step, graph.Scalar<int64_t>(steps));
  ends_group_ = ops::Equal(place, graph.Scalar<int64_t>(steps - 1));
  for (Trained& t : trained) {
    const Variable& variable = *t.variable;
    const Variable& sum = GetOrCreateSlot(graph, SlotName(variable.name, kAccumulatorSlot, names),
                                          variable.dtype, variable.shape, 0.0);
    const Value next = ops::AddV2(sum.value, Whole(t));
    t.gradient = ops::RealDiv(next, graph.ScalarOf(variable.dtype, static_cast<double>(steps)));
    sums_.push_back(
        ops::AssignVariableOp(sum.handle, ops::SelectV2(ends_group_, ops::ZerosLike(next), next)));
  }
}

std::vector<Node*> GradientAccumulation::Finish(const std::vector<Node*>& applied) const {
  const NameScope scope(graph_, "gradient_accumulation");
  std::vector<Node*> last = sums_;
  for (const auto& variable : graph_.variables()) {
    const auto updated = std::ranges::find_if(
        applied, [&](const Node* node) { return IsUpdatedBy(*variable, *node); });
    if (updated == applied.end()) continue;
    const Value after = ops::ReadVariableOp(variable->handle);
    after.node->AddControlInput(*updated);
    last.push_back(ops::AssignVariableOp(variable->handle,
                                         ops::SelectV2(ends_group_, after, variable->value)));
  }
  return last;
}

}  // namespace tpuest::nn
