#include "core/nn/optimizers/weight_decay.h"

#include "core/base/error.h"
#include "core/nn/name_patterns.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {

Value WeightDecayLoss(Graph& graph, const L2WeightDecay& decay, const TableTraining& tables) {
  WeightDecay settings;
  if (const auto* const number = std::get_if<double>(&decay)) {
    settings.rate = *number;
  } else {
    settings = std::get<WeightDecay>(decay);
  }
  if (settings.rate.has_value() == settings.scale.has_value()) {
    throw Error(Code::kUsage, "l2_weight_decay needs either rate or its synonym scale",
                "l2_weight_decay: {rate: 1e-4}")
        .Key("model.l2_weight_decay");
  }
  const double rate = settings.rate ? *settings.rate : *settings.scale;
  if (rate == 0.0) return {};
  const NamePatterns exclude(settings.exclude);
  const NameScope scope(graph, "l2_weight_decay");
  std::vector<Value> squares;
  for (const auto& variable : graph.variables()) {
    if (!variable->trainable || variable->local || exclude.Match(variable->name)) continue;
    if (tables.Find(variable->name) != nullptr) continue;
    squares.push_back(ops::Sum(ops::Square(variable->value)));
  }
  if (squares.empty()) return {};
  return ops::Mul(ops::AddN(squares), rate / 2);
}

}  // namespace tpuest::nn
