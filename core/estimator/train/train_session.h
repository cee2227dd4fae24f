#pragma once
// One call of Train around its loop: the files that it writes (checkpoints, events, metrics.jsonl,
// graph.pbtxt) and the hooks that write them.

#include <optional>
#include <string>
#include <vector>

#include "core/estimator/hooks/train_hooks.h"
#include "core/estimator/step/programs/hook_graph.h"
#include "core/estimator/train/train_loop.h"

namespace tpuest {

// The start and the end of a run.
struct TrainPlan {
  std::optional<SavedState> newest;  // the checkpoint that it resumes from
  int64_t batch_size = 1;
  std::optional<int64_t> goal;  // global step
  std::string goal_reason;      // "steps" or "max_steps"
  ResumePoint resume;
  bool saves = true;  // whether checkpoints are written
  bool may_roll_back = false;
};

struct TrainSessionArgs {
  EstimatorContext& context;
  const TrainPlan& plan;
  VariableStore& variables;
  TrainStep& step;
  TrainHooks user;
};

class TrainSession {
 public:
  explicit TrainSession(const TrainSessionArgs& args);

  // Trains to the end, or until a rollback: then the reason is TrainLoop::kRolledBack, and
  // position() is where the input continues. Throws as TrainLoop::Run does; the newest checkpoint
  // is then where the run resumes. End is not called after a rollback or an error.
  TrainResult Run(Infeed& infeed);
  [[nodiscard]] const StreamPosition& position() const { return resume_.position; }

 private:
  void MakeHooks(const TrainHooks& user);
  // Checks before each checkpoint that the variables of all processes are equal.
  class Comparison final : public CheckpointSaverListener {
   public:
    explicit Comparison(TrainSession& session) : session_(session) {}
    void BeforeSave(int64_t global_step) override;

   private:
    TrainSession& session_;
  };

  void WriteGraph();
  [[nodiscard]] int64_t Period() const;
  // Calls the hooks up to the first step.
  void Begin();
  // Saves what is not saved yet: a preemption checkpoint, if a stop request interrupted the run.
  void End(const TrainLoop& loop, bool stopped_by_signal);

  EstimatorContext& context_;
  const TrainPlan& plan_;
  VariableStore& variables_;
  TrainStep& step_;
  const BuiltModel& model_;
  const RunConfig& config_;
  const Clock& clock_;
  int64_t start_;
  ResumePoint resume_;  // advanced by the loop, saved in checkpoints
  Saver saver_;
  MetricsLog metrics_;
  EventWriter events_;
  HookGraph hook_graph_;
  HookHome hook_home_;
  HostCallRunner host_call_;
  std::vector<std::unique_ptr<SessionRunHook>> own_hooks_;
  std::vector<SessionRunHook*> hooks_;
  std::vector<CheckpointSaverListener*> listeners_;
  Comparison comparison_{*this};
};

// Removes the lines after a step, which a run that resumes there writes again, and warns of damaged
// ones.
void CutMetrics(MetricsLog& metrics, const EstimatorContext& context, int64_t step);

// Whether a run with these options and hooks (those of the call and of the spec) writes
// checkpoints.
[[nodiscard]] bool SavesCheckpoints(const RunConfig& config, const TrainHooks& hooks,
                                    const TPUEstimatorSpec& spec);

}  // namespace tpuest
