#include "core/estimator/hooks/check_numerics_hook.h"

#include <cmath>

#include "core/estimator/checkpoint/saver.h"

namespace tpuest {
namespace {

bool IsFinite(const Tensor& tensor) {
  const float* const values = tensor.data<float>();
  // 0 times NaN or infinity is NaN, and a sum keeps that: it runs at the memory's speed.
  float sum = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) sum += values[i] * 0.0F;
  return std::isfinite(sum);
}

}  // namespace

CheckNumericsHook::CheckNumericsHook(const Graph& graph, const VariableStore& variables)
    : variables_(variables) {
  for (const auto& variable : graph.variables()) {
    if (variable->trainable && variable->dtype == DType::kFloat) names_.push_back(variable->name);
  }
}

void CheckNumericsHook::AfterRun(RunContext& /*context*/, const RunValues& values) {
  if (values.diverged_loss || values.steps.empty()) return;
  for (const std::string& name : names_) {
    if (IsFinite(variables_.Get(name))) continue;
    const std::string prefix = home_->saver == nullptr ? "" : home_->saver->last_prefix();
    const std::string saved = prefix.empty() ? "" : fmt::format("{} is good; ", prefix);
    throw Error(Code::kDiverged, fmt::format("Gradient for {} is NaN", name),
                fmt::format("{}try a lower learning rate, or clipping", saved));
  }
}

}  // namespace tpuest
