#pragma once
// Commands of the user's that run at moments of a run: to copy checkpoints, to notify somebody.

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
  // Does nothing for an empty command. {model_dir}, {checkpoint} (prefix of the checkpoint of this
  // step) and {global_step} are put in. An exit code other than 0 is a warning, or with `check` an
  // Error kGate.
  void Run(const std::vector<std::string>& command, int64_t global_step) const;

 private:
  std::string name_;
  bool check_;
  const HookHome* home_ = nullptr;
};

class ExecHook final : public SessionRunHook {
 public:
  explicit ExecHook(ExecHookOptions options)
      : options_(std::move(options)), runner_("ExecHook", options_.check) {}
  void Begin(HookHome& home) override { runner_.Attach(home); }
  void AfterCreateSession(const SessionInfo& session) override;
  void End(int64_t global_step) override;
  // Runs it after each checkpoint; nullptr if it is not meant to.
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

// A CheckpointSaverListener of a job; as a hook it does nothing but learn what it works with.
class ExecListener final : public SessionRunHook {
 public:
  explicit ExecListener(CheckpointSaverListenerOptions options)
      : options_(std::move(options)), runner_("CheckpointSaverListener", options_.check) {}
  void Begin(HookHome& home) override { runner_.Attach(home); }
  void AfterCreateSession(const SessionInfo& session) override;
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
