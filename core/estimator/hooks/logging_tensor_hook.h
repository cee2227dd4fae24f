#pragma once
// tf.train.LoggingTensorHook: logs values of a run.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/hooks/step_timer.h"
#include "core/estimator/options/hook_options.h"
#include "core/estimator/step/programs/hook_graph.h"

namespace tpuest {

// every_n_iter counts steps, including those inside a loop, or batches of an evaluation or a
// prediction. A variable is printed as it is after the step; "x:0" means "x". The global_step of an
// evaluation is that of its checkpoint.
class LoggingTensorHook final : public SessionRunHook {
 public:
  explicit LoggingTensorHook(const LoggingTensorHookOptions& options);
  void Begin(HookHome& home) override;
  // Throws Error kUsage for a tensor that the run does not have.
  void AfterCreateSession(const SessionInfo& session) override;
  void BeforeRun(RunContext& context) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  void End(int64_t global_step) override;
  [[nodiscard]] int64_t Period() const override { return timer_.period(); }
  [[nodiscard]] int64_t NextLook(int64_t global_step) const override {
    return timer_.period() > 0 ? SessionRunHook::NextLook(global_step) : kNeverLooks;
  }

 private:
  void Write(const StepRecord& record);
  [[nodiscard]] std::string TextOf(const std::string& tensor, const StepRecord& record);

  std::vector<std::pair<std::string, std::string>> tensors_;  // tag and tensor, in order
  const bool periodic_;
  const bool at_end_;
  SecondOrStepTimer timer_;
  HookHome* home_ = nullptr;
  std::optional<int64_t> evaluated_step_;  // nullopt: training
  std::vector<std::string> tags_;          // the summaries' tags, in their order
  std::vector<std::string> predictions_;   // names of the predictions, in a prediction
  std::map<std::string, Tensor> last_predictions_;
  bool shows_summaries_ = false;
  std::map<std::string, Value> variables_;  // the variables to print, by name
  std::optional<StepRecord> last_;
  std::vector<float> last_summaries_;
};

}  // namespace tpuest
