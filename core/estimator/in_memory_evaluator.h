#pragma once
// tf.estimator.experimental.InMemoryEvaluatorHook: evaluations in the midst of a training, with the
// weights as they are in memory. No checkpoint is written for them, or read.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/evaluate/evaluator.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/train/trainer.h"
#include "core/estimator/train_and_evaluate.h"

namespace tpuest {

// Evaluates at the global steps that are multiples of every_n_iter, from the run's start on, and
// where training ends; loops end at these steps. It is called before the saver: a checkpoint's step
// has its evaluation. A run that goes on makes an evaluation that was cut, and no other twice, so
// that it ends with those of one that was not cut.
class InMemoryEvaluatorHook final : public SessionRunHook {
 public:
  // The task's exporters and times are left out. The others outlive the hook.
  InMemoryEvaluatorHook(EstimatorContext& context, const Trainer& trainer, Evaluator& evaluator,
                        EvalTask task, int64_t every_n_iter)
      : context_(context),
        trainer_(trainer),
        evaluator_(evaluator),
        task_(std::move(task)),
        every_n_iter_(every_n_iter) {}

  void AfterCreateSession(const SessionInfo& session) override;
  void BeforeRun(RunContext& context) override;
  void AfterRun(RunContext& context, const RunValues& values) override;
  void End(int64_t global_step) override;
  // Looks at a call of Train that is over. What a stop request has kept from the last evaluation
  // makes it a run to go on with; where nothing was left to train, its checkpoint is evaluated.
  void Settle(TrainResult& result);
  [[nodiscard]] int64_t Period() const override { return every_n_iter_; }
  [[nodiscard]] bool IsBeforeSaver() const override { return true; }

 private:
  void Evaluate(int64_t global_step);
  // `checkpoint`: its prefix, or "" for the weights in memory.
  void Make(const std::string& checkpoint);

  EstimatorContext& context_;
  const Trainer& trainer_;
  Evaluator& evaluator_;
  const EvalTask task_;
  const int64_t every_n_iter_;
  bool has_begun_ = false;            // a run
  std::optional<int64_t> evaluated_;  // the last step that was
};

}  // namespace tpuest
