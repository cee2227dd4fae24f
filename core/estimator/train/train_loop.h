#pragma once
// Runs the steps of a training run in loops of iterations_per_loop, with its hooks around them.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/step_trace.h"
#include "core/estimator/checkpoint/saver.h"
#include "core/estimator/step/distributions.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/host_call_runner.h"
#include "core/estimator/step/infeed.h"
#include "core/estimator/step/model_builder.h"
#include "core/estimator/step/step_program.h"
#include "core/estimator/step/weight_summaries.h"

namespace tpuest {

// A training step for batches of one size, and of lists as long. Fetches: the loss, the learning
// rate if there is one, and the summaries that read the batch.
struct TrainStep {
  const BuiltModel* model = nullptr;
  std::shared_ptr<StepProgram> program;
  bool has_learning_rate = false;
  WeightSummaries* weights = nullptr;
  Distributions* distributions = nullptr;
  std::vector<size_t> host_call;  // fetches of its tensors; none: there is no call
};

// The step for a global batch of these shapes, compiled on first use; with a trace, one for this
// batch that leaves its events there.
using StepFor = std::function<TrainStep(const Batch&, StepTrace*)>;

struct TrainLoopArgs {
  EstimatorContext& context;
  VariableStore& variables;
  Infeed& infeed;
  Saver& saver;
  ResumePoint& resume;  // moved on by every step
  bool saves = true;    // checkpoints are written at all
  std::vector<SessionRunHook*> hooks;
  StepFor step_for;
  HostCallRunner* host_call = nullptr;
  std::span<CheckpointSaverListener* const> listeners;
  int64_t batch_size = 1;
  std::optional<int64_t> goal;  // global step
  int64_t period = 0;           // see LoopLength
};

class TrainLoop {
 public:
  explicit TrainLoop(TrainLoopArgs args);

  // To the end; returns why it ended. Error kDiverged, and those of hooks, data and saving.
  std::string Run();
  [[nodiscard]] int64_t global_step() const { return step_; }
  [[nodiscard]] std::optional<float> loss() const { return loss_; }
  [[nodiscard]] bool input_ended() const { return input_ended_; }
  [[nodiscard]] int64_t steps_made() const { return steps_made_; }

 private:
  // `trace`: of the first step, or nullptr.
  RunValues RunSteps(int64_t iterations, StepTrace* trace);
  void RunChunk(std::vector<InfeedItem>& items, StepTrace* trace);
  // Items of the same shapes, of which the first alone may compute summaries for them alone;
  // `waited`: seconds, for each.
  void RunSpan(const TrainStep& step, std::span<InfeedItem> items, double waited);
  // `weights`: values of step.weights, empty where they are not written.
  void Record(const TrainStep& step, const StepResult& result, std::span<const float> weights);
  // Whether the step that begins at this global step has summaries to write that are computed for
  // them alone.
  [[nodiscard]] bool HasSummariesDue(const TrainStep& step, int64_t global_step) const;
  // Where the step that was recorded last has a host_call.
  void CallHost(const TrainStep& step, const StepFeeds& feeds, const StepResult& result);
  void SettleEnd(RunContext& context, const RunValues& values);
  void FailAtEndOfInput();
  void CheckGlobalStep() const;
  void ReportProgress();
  void OpenWindow(double seconds);
  [[nodiscard]] bool AtGoal() const { return args_.goal && step_ >= *args_.goal; }

  TrainLoopArgs args_;
  LoopLength length_;
  int64_t step_ = 0;
  int64_t steps_made_ = 0;
  std::optional<float> loss_;
  int64_t loop_begin_ = 0;           // global step before the loop that runs
  size_t chunk_ = 1;                 // steps of one call of a program
  bool whole_chunks_ = false;        // the program wants all of them at once
  std::vector<StepRecord> records_;  // of the loop that runs
  std::vector<float> summaries_;     // of all records
  std::optional<float> diverged_loss_;
  bool input_ended_ = false;
  double waited_ = 0;  // for batches, as far as records tell
  // For the status line: rates since the window was opened, settled when it is long enough.
  double window_begin_ = 0;
  int64_t window_step_ = 0;
  double window_waited_ = 0;
  double examples_per_sec_ = 0;
  double input_wait_ = 0;
};

}  // namespace tpuest
