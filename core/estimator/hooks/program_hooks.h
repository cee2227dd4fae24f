#pragma once
// TensorFlow's hooks for use from C++ only: FinalOpsHook, FeedFnHook and GlobalStepWaiterHook.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/step/programs/hook_graph.h"

namespace tpuest {

// tf.train.FinalOpsHook: computes values at the end of a run. `build` adds the nodes to the hooks'
// graph, using the model's variables.
class FinalOpsHook final : public SessionRunHook {
 public:
  using Build = std::function<std::vector<Value>(Graph& graph)>;
  explicit FinalOpsHook(Build build) : build_(std::move(build)) {}
  void Begin(HookHome& home) override {
    home_ = &home;
    ops_ = build_(home.graph.graph());
  }
  void End(int64_t /*global_step*/) override { values_ = home_->graph.Run(ops_); }
  // The values at the end of the last completed run, in the order of `build`'s result.
  [[nodiscard]] const std::vector<Tensor>& final_ops_values() const { return values_; }

 private:
  Build build_;
  HookHome* home_ = nullptr;
  std::vector<Value> ops_;
  std::vector<Tensor> values_;
};

// tf.train.FeedFnHook: feeds placeholders of the hooks' graph again before each loop, for the nodes
// of other hooks.
class FeedFnHook final : public SessionRunHook {
 public:
  using FeedFn = std::function<std::vector<std::pair<Value, Tensor>>()>;
  explicit FeedFnHook(FeedFn feed_fn) : feed_fn_(std::move(feed_fn)) {}
  void Begin(HookHome& home) override { home_ = &home; }
  void BeforeRun(RunContext& /*context*/) override { home_->graph.Feed(feed_fn_()); }

 private:
  FeedFn feed_fn_;
  HookHome* home_ = nullptr;
};

// tf.train.GlobalStepWaiterHook: delays a run until another run has reached a global step, or a
// stop is requested.
class GlobalStepWaiterHook final : public SessionRunHook {
 public:
  // `current_step` returns the other run's global step; `sleep` waits for the given number of
  // seconds.
  GlobalStepWaiterHook(int64_t wait_until_step, std::function<int64_t()> current_step,
                       std::function<void(double)> sleep)
      : wait_until_step_(wait_until_step),
        current_step_(std::move(current_step)),
        sleep_(std::move(sleep)) {}
  void Begin(HookHome& home) override { home_ = &home; }
  void BeforeRun(RunContext& /*context*/) override {
    if (started_) return;
    started_ = true;
    if (wait_until_step_ <= 0) return;
    home_->log.Info("Waiting for global step {} before starting training.", wait_until_step_);
    Wait();
  }

 private:
  void Wait() {
    constexpr double kSecondsBetweenLooks = 0.5;
    constexpr int64_t kStepsBetweenLines = 1000;
    int64_t last_logged = 0;
    while (!home_->stop.requested()) {
      const int64_t step = current_step_();
      if (step >= wait_until_step_) return;
      if (step - last_logged > kStepsBetweenLines) {
        home_->log.Info("Waiting for global step {} before starting training. Current step is {}.",
                        wait_until_step_, step);
        last_logged = step;
      }
      sleep_(kSecondsBetweenLooks);
    }
  }

  const int64_t wait_until_step_;
  std::function<int64_t()> current_step_;
  std::function<void(double)> sleep_;
  HookHome* home_ = nullptr;
  bool started_ = false;
};

}  // namespace tpuest
