#pragma once
// The hooks of an evaluation or a prediction, called around every batch.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/evaluate/inference_model.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/programs/hook_graph.h"

namespace tpuest {

class InferenceHooks {
 public:
  // The model is loaded. Its hooks are the call's, then the spec's; all of these outlive it. An
  // evaluation says how its folder's events are opened.
  InferenceHooks(const EstimatorContext& context, InferenceModel& model,
                 const std::vector<SessionRunHook*>& of_call, const SpecHooks& of_spec,
                 std::function<EventWriter&()> open_events = {});

  void Begin(bool restored, int64_t batch_size);
  // Calls the hooks before a batch, which is then run with trace().
  void BeforeBatch();
  [[nodiscard]] StepTrace* trace() const { return run_.trace(); }
  // Call the hooks with the batch's loss, or its predictions, and its summaries where a hook has
  // asked for them. Returns whether a hook wants no batch after this one.
  [[nodiscard]] bool AfterBatch(const Batch& batch, float loss);
  [[nodiscard]] bool AfterBatch(const std::map<std::string, Tensor>& predictions);
  // Ends the hooks, once the results are written; an evaluation has metrics.
  void End(const std::map<std::string, Tensor>* metrics = nullptr);

 private:
  [[nodiscard]] bool After(const RunValues& values);

  InferenceModel& model_;
  std::vector<SessionRunHook*> hooks_;
  int64_t global_step_;
  HookGraph graph_;
  HookHome home_;
  RunContext run_;
  int64_t batches_ = 0;
};

}  // namespace tpuest
