#pragma once
// tf.estimator.experimental's stop_if_* hooks: they read the evaluations in a folder's event files
// and end the run by their rules.

#include <functional>
#include <map>
#include <string>

#include "core/base/log.h"
#include "core/estimator/contract/hooks.h"
#include "core/estimator/hooks/step_timer.h"
#include "core/estimator/options/hook_options.h"

namespace tpuest {

// step -> metric -> value.
using EvalMetricsBySteps = std::map<int64_t, std::map<std::string, double>>;

// Reads the scalars of all event files of a folder; for each step and tag, the last value counts.
// Skips events for which `believed` returns false; an empty `believed` accepts all. `offset` is
// where the event starts in its file. A damaged file is read as far as possible, with a warning; a
// missing folder is empty.
using BelievedFn = std::function<bool(int64_t step, const std::string& path, uint64_t offset)>;
[[nodiscard]] EvalMetricsBySteps ReadEvalMetrics(const std::string& eval_dir, Log& log,
                                                 const BelievedFn& believed = {});

// The rule of stop_if_higher_hook and stop_if_lower_hook.
struct ThresholdRule {
  std::string metric_name;
  double threshold = 0;
  bool higher_is_better = true;
  int64_t min_steps = 0;
};
// Whether an evaluation is past the threshold, which is logged in TensorFlow's words. Throws Error
// kUsage if an evaluation lacks the metric.
[[nodiscard]] bool ThresholdCrossed(const EvalMetricsBySteps& metrics, const ThresholdRule& rule,
                                    Log& log);

// The rule of stop_if_no_increase_hook and stop_if_no_decrease_hook.
struct ImprovementRule {
  std::string metric_name;
  int64_t max_steps_without_improvement = 0;
  bool higher_is_better = true;
  int64_t min_steps = 0;
  double min_delta = 0;
};
// Whether an evaluation comes max_steps_without_improvement or more steps after the best one before
// it, which is logged in TensorFlow's words. Throws Error kUsage if an evaluation lacks the metric.
[[nodiscard]] bool ImprovementEnded(const EvalMetricsBySteps& metrics, const ImprovementRule& rule,
                                    Log& log);

// The rule of make_early_stopping_hook: whether the formula is true for an evaluation, which is
// logged. It reads the metrics by name, with _ instead of characters that names cannot have, and
// global_step. Throws Error kUsage, at its place in the formula, for a name that an evaluation
// lacks.
[[nodiscard]] bool FormulaStops(const EvalMetricsBySteps& metrics, const Formula& should_stop,
                                int64_t min_steps, Log& log);

// tf.estimator.experimental.make_early_stopping_hook. Evaluations at global steps after the one
// that the run resumed from count only if they were made since it began.
class EarlyStoppingHook final : public SessionRunHook {
 public:
  using ShouldStop = std::function<bool(const EvalMetricsBySteps&, Log&)>;
  EarlyStoppingHook(const EarlyStoppingOptions& options, ShouldStop should_stop);
  // Reads the first evaluation of the run, which must contain the metric: otherwise throws Error
  // kUsage with the metrics that it has.
  void Begin(HookHome& home) override;
  void AfterCreateSession(const SessionInfo& session) override;
  // Before the first loop of a restored run, polls if the previous run would have polled there: it
  // may have been stopped between the evaluation that ends it and its end.
  void BeforeRun(RunContext& context) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  [[nodiscard]] int64_t Period() const override { return timer_.period(); }
  [[nodiscard]] int64_t NextLook(int64_t global_step) const override {
    return timer_.NextDue(global_step);
  }

 private:
  // Looks for the metric in the first evaluation; called after each checkpoint until there is one.
  void CheckMetric();
  [[nodiscard]] EvalMetricsBySteps Believed() const;
  // Reads the step of the last poll, from which a resumed run counts.
  void TakeLook(HookHome& home);
  void Trigger(int64_t global_step);
  // Whether the evaluations that count ask to stop.
  bool StopsAt(int64_t global_step, RunContext& context);

  EarlyStoppingOptions options_;
  ShouldStop should_stop_;
  SecondOrStepTimer timer_;
  HookHome* home_ = nullptr;
  int64_t start_step_ = 0;
  // Size of each event file in bytes when training began: later events belong to this run. A clock
  // cannot tell, since clocks are set back and another machine's evaluator has its own.
  std::map<std::string, uint64_t> start_sizes_;
  bool has_metric_ = false;
  std::optional<int64_t> looked_at_;  // the checkpoint at which the metric was last looked for
  bool goes_on_ = false;              // true before the first loop of a restored run
  std::optional<size_t> look_;        // index in ResumePoint::looks, if polls are counted in steps
  bool knows_look_ = false;           // the previous run has stored it
};

}  // namespace tpuest
