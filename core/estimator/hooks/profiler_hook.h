#pragma once
// tf.train.ProfilerHook: writes a Chrome trace of one step at intervals.

#include <optional>
#include <string>

#include "core/base/step_trace.h"
#include "core/estimator/contract/hooks.h"
#include "core/estimator/hooks/step_timer.h"

namespace tpuest {

// Writes <output_dir>/timeline-<global step>.json; the first step of a run is never traced. On a
// device the trace has one event per call. In an evaluation or a prediction the period counts
// batches, the global step is the checkpoint's, and each trace overwrites the one before it.
class ProfilerHook final : public SessionRunHook {
 public:
  // Exactly one of save_steps and save_secs must be given. Creates the folder.
  ProfilerHook(std::optional<int64_t> save_steps, std::optional<double> save_secs,
               std::string output_dir)
      : timer_(save_steps, save_secs), output_dir_(std::move(output_dir)) {}
  void Begin(HookHome& home) override;
  void BeforeRun(RunContext& context) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return timer_.period(); }
  [[nodiscard]] int64_t NextLook(int64_t global_step) const override {
    return timer_.period() > 0 ? SessionRunHook::NextLook(global_step) : kNeverLooks;
  }

 private:
  SecondOrStepTimer timer_;
  std::string output_dir_;
  HookHome* home_ = nullptr;
  std::optional<StepTrace> trace_;
  int64_t batches_ = 0;  // outside training, the number of completed batches
  bool has_run_ = false;
  std::optional<int64_t> traced_;  // the step that the current loop traces
};

}  // namespace tpuest
