#pragma once
// Hooks that run the user's commands at moments of a run: to copy checkpoints, to notify somebody.
// TensorFlow has no such hooks.

#include <string>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/options/hook_options.h"

namespace tpuest {

// Runs a command in a process of its own and waits for it. Its output goes to stderr, its input is
// empty.
class CommandRunner {
 public:
  // `name` stands in messages.
  CommandRunner(std::string name, bool check) : name_(std::move(name)), check_(check) {}
  void Attach(const HookHome& home) { home_ = &home; }
  // Puts in {model_dir}, {checkpoint} (prefix of the checkpoint of this step) and {global_step},
  // and runs the command; an empty one is none. An exit code other than 0, a signal, or a program
  // that is not there is a warning, or with `check` an Error kGate.
  void Run(const std::vector<std::string>& command, int64_t global_step) const;

 private:
  std::string name_;
  bool check_;
  const HookHome* home_ = nullptr;
};

// Runs one command at the moments that `on` names: begin, end, evaluated, checkpoint_saved.
class ExecHook final : public SessionRunHook {
 public:
  explicit ExecHook(ExecHookOptions options)
      : options_(std::move(options)), runner_("ExecHook", options_.check) {}
  void Begin(HookHome& home) override { runner_.Attach(home); }
  void AfterCreateSession(const SessionInfo& session) override;
  void End(int64_t global_step) override;
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }
  // The listener that runs the command after each checkpoint; nullptr if `on` does not ask for
  // that.
  [[nodiscard]] CheckpointSaverListener* listener();

 private:
  class Listener final : public CheckpointSaverListener {
   public:
    explicit Listener(const ExecHook& hook) : hook_(hook) {}
    std::optional<std::string> AfterSave(int64_t global_step) override;

   private:
    const ExecHook& hook_;
  };
  [[nodiscard]] bool Has(std::string_view moment) const;

  ExecHookOptions options_;
  CommandRunner runner_;
  Listener listener_{*this};
};

// A CheckpointSaverListener of a job. It is a hook too, which runs the command `begin` and gets the
// HookHome.
class ExecListener final : public SessionRunHook {
 public:
  explicit ExecListener(CheckpointSaverListenerOptions options)
      : options_(std::move(options)), runner_("CheckpointSaverListener", options_.check) {}
  void Begin(HookHome& home) override { runner_.Attach(home); }
  void AfterCreateSession(const SessionInfo& session) override;
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }
  [[nodiscard]] CheckpointSaverListener* listener() { return &listener_; }

 private:
  class Listener final : public CheckpointSaverListener {
   public:
    explicit Listener(const ExecListener& hook) : hook_(hook) {}
    void BeforeSave(int64_t global_step) override;
    std::optional<std::string> AfterSave(int64_t global_step) override;
    void End(int64_t global_step) override;

   private:
    const ExecListener& hook_;
  };

  CheckpointSaverListenerOptions options_;
  CommandRunner runner_;
  Listener listener_{*this};
};

}  // namespace tpuest
