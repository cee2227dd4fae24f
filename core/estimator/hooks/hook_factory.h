#pragma once
// Makes the hooks and listeners that a job names.

#include <functional>
#include <memory>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/options/hook_options.h"

namespace tpuest {

// The hooks of a job; owns them.
class JobHooks {
 public:
  // Returns the hooks for Train, with `first` (the caller's own) before the job's.
  [[nodiscard]] TrainHooks With(SessionRunHook& first) const;
  // Returns the hooks for Evaluate and Predict.
  [[nodiscard]] std::vector<SessionRunHook*> hooks() const;
  void Add(std::unique_ptr<SessionRunHook> hook, CheckpointSaverListener* listener = nullptr);

 private:
  std::vector<std::unique_ptr<SessionRunHook>> hooks_;
  std::vector<CheckpointSaverListener*> listeners_;
};

// Makes the hook that needs an Estimator: see Estimator::InMemoryEvaluator.
using MakeEvaluator =
    std::function<std::unique_ptr<SessionRunHook>(const InMemoryEvaluatorHookOptions& options)>;

// Makes hooks from options in which ValidateHooks and ValidateListeners find no fault.
[[nodiscard]] JobHooks MakeHooks(const std::vector<AnyHook>& hooks,
                                 const std::vector<AnySavingListener>& listeners,
                                 const MakeEvaluator& make_evaluator);
[[nodiscard]] JobHooks MakeHooks(const std::vector<AnyEvalHook>& hooks);
[[nodiscard]] JobHooks MakeHooks(const std::vector<AnyPredictHook>& hooks);

}  // namespace tpuest
