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
  // The model must be loaded. Calls the hooks of the call, then those of the spec; all of these
  // outlive it. An evaluation passes a function that opens its folder's events.
  InferenceHooks(const EstimatorContext& context, InferenceModel& model,
                 const std::vector<SessionRunHook*>& of_call, const SpecHooks& of_spec,
                 std::function<EventWriter&()> open_events = {});

  void Begin(bool restored, int64_t batch_size);
  // Calls the hooks before a batch, which then runs with trace().
  void BeforeBatch();
  [[nodiscard]] StepTrace* trace() const { return run_.trace(); }
  // Calls the hooks with the batch's loss or its predictions, and its summaries if a hook has
  // requested them. Returns whether a hook ends the run after this batch.
  [[nodiscard]] bool AfterBatch(const Batch& batch, float loss);
  [[nodiscard]] bool AfterBatch(const std::map<std::string, Tensor>& predictions);
  // Ends the hooks after the results are written; an evaluation passes its metrics.
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
