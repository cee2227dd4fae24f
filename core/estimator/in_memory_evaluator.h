#pragma once
// tf.estimator.experimental.InMemoryEvaluatorHook: evaluates during training with the weights in
// memory; it writes and reads no checkpoints for that.

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

// Evaluates at the global steps that are multiples of every_n_iter, including the first step of the
// run, and at the end of training; loops end at these steps. It is called before the saver, so the
// evaluation of a checkpoint's step exists. A resumed run repeats an interrupted evaluation and no
// other, so it ends with the same evaluations as a run that was never stopped.
class InMemoryEvaluatorHook final : public SessionRunHook {
 public:
  // Ignores the task's exporters and times. The references outlive the hook.
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
  // Completes a finished call of Train. If a stop request prevented the last evaluation, marks the
  // run as one to resume. If there was nothing left to train, evaluates its checkpoint.
  void Settle(TrainResult& result);
  [[nodiscard]] int64_t Period() const override { return every_n_iter_; }
  [[nodiscard]] bool IsBeforeSaver() const override { return true; }

 private:
  void Evaluate(int64_t global_step);
  // `checkpoint`: the prefix, or "" for the weights in memory.
  void Make(const std::string& checkpoint);

  EstimatorContext& context_;
  const Trainer& trainer_;
  Evaluator& evaluator_;
  const EvalTask task_;
  const int64_t every_n_iter_;
  bool has_begun_ = false;            // whether a run has begun
  std::optional<int64_t> evaluated_;  // step of the last evaluation
};

}  // namespace tpuest
