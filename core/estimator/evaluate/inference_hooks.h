#pragma once
// The hooks of an evaluation or a prediction, called around every batch.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/hook_graph.h"

namespace tpuest {

class InferenceHooks {
 public:
  // The model is loaded. Its hooks are the call's, then the spec's; all of these outlive it.
  InferenceHooks(const EstimatorContext& context, InferenceModel& model,
                 const std::vector<SessionRunHook*>& of_call, const SpecHooks& of_spec);

  void Begin(bool restored, int64_t batch_size);
  void BeforeBatch();
  // Returns whether a hook wants no batch after this one. `loss` is nullopt in a prediction.
  [[nodiscard]] bool AfterBatch(const std::optional<float>& loss);
  // Ends the hooks, once the results are written; an evaluation has metrics.
  void End(const std::map<std::string, Tensor>* metrics = nullptr);

 private:
  std::vector<SessionRunHook*> hooks_;
  int64_t global_step_;
  HookGraph graph_;
  HookHome home_;
  RunContext run_;
  int64_t batches_ = 0;
};

}  // namespace tpuest
