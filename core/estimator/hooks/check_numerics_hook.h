#pragma once
// TPUEstimator's check, after each loop, that the trainable variables are numbers.

#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/estimator/contract/hooks.h"

namespace tpuest {

// Ends the run, before anything is saved, with Error kDiverged in TensorFlow's words where an
// update has made a trainable variable NaN or infinite, though the loss was still a number.
class CheckNumericsHook final : public SessionRunHook {
 public:
  // `variables` outlives it.
  CheckNumericsHook(const Graph& graph, const VariableStore& variables);
  void Begin(HookHome& home) override { home_ = &home; }
  void AfterRun(RunContext& context, const RunValues& values) override;

 private:
  const VariableStore& variables_;
  std::vector<std::string> names_;  // trainable, float32
  HookHome* home_ = nullptr;
};

}  // namespace tpuest
