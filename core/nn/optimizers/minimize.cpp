#include "core/nn/optimizers/minimize.h"

#include <utility>

#include "core/nn/job_place.h"
#include "core/nn/optimizers/optimizer_updates.h"
#include "core/nn/optimizers/trained_gradients.h"

namespace tpuest::nn {
namespace {

TrainOp Build(Value loss, const AnyOptimizer& optimizer, bool mean,
              const MinimizeOptions& options) {
  Graph& graph = loss.graph();
  CheckOptions(optimizer);
  AllGradients all = GradientsOverReplicas(loss, mean, options);
  TrainOp result;
  result.gradients = ByVariable(all);
  std::vector<Node*> updates = options.updates;
  for (Node* const node : UpdateTables(graph, all.tables, options)) updates.push_back(node);
  for (Node* const node :
       ApplyTrainOptimizer(graph, optimizer, {}, std::move(all.model), options, result)) {
    updates.push_back(node);
  }
  result.node =
      TrainOpAfter(graph, updates, WithoutTables(AveragesOf(graph, optimizer), options.tables));
  return result;
}

}  // namespace

std::vector<KeptAverage> AveragesOf(const Graph& graph, const AnyOptimizer& optimizer) {
  const ExponentialMovingAverage* const average = AverageOf(optimizer);
  if (average == nullptr) return {};
  return {{average, "", TrainedVariables(graph), true}};
}

TrainOp Minimize(Value loss, const AnyOptimizer& optimizer, const MinimizeOptions& options) {
  return std::visit(
      [&](const auto& o) {
        return AtPlace(loss.graph(), o.place, [&] {
          const bool mean =
              o.gradients.cross_shard_optimizer.reduction == "MEAN" && !options.sums_losses;
          return Build(loss, optimizer, mean, options);
        });
      },
      optimizer);
}

}  // namespace tpuest::nn
