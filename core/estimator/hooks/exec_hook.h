#pragma once
// Hooks that run the user's commands during a run: to copy checkpoints, to notify somebody.
// TensorFlow has no such hooks.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/estimator/contract/hooks.h"
#include "core/estimator/options/hook_options.h"

namespace tpuest {

// The event that a command is told about.
struct RunEvent {
  std::string_view name;  // "begin", "checkpoint_saved", ...
  int64_t global_step = 0;
  std::optional<StepRecord> last = {};                     // the last step, if there was one
  const std::map<std::string, Tensor>* metrics = nullptr;  // in an evaluation
};

// Runs a command in a separate process and waits for it. The command learns of the event from its
// environment (TPUEST_EVENT, TPUEST_GLOBAL_STEP, TPUEST_MODEL_DIR, TPUEST_CHECKPOINT, TPUEST_LOSS,
// TPUEST_LEARNING_RATE) and from a line of JSON on its stdin. Its output goes to stderr, except
// lines {"stop": REASON}, which are its answer.
class CommandRunner {
 public:
  // `name` appears in messages.
  CommandRunner(std::string name, bool check) : name_(std::move(name)), check_(check) {}
  void Attach(const HookHome& home) { home_ = &home; }
  // Replaces {model_dir}, {checkpoint} (prefix of the checkpoint of this step) and {global_step},
  // and runs the command; does nothing if it is empty. An exit code other than 0, a signal or a
  // missing program causes a warning, or an Error kGate with `check`. Returns the reason why the
  // command asks to end the run.
  std::optional<std::string> Run(const std::vector<std::string>& command,
                                 const RunEvent& event) const;

 private:
  // Runs it and returns what went wrong; "" for exit code 0.
  std::string Fault(const std::vector<std::string>& words, const RunEvent& event,
                    const std::string& checkpoint, std::string& output) const;

  std::string name_;
  bool check_;
  const HookHome* home_ = nullptr;
};

// Runs one command, once for each event that `on` names: begin, end, evaluated, checkpoint_saved.
class ExecHook final : public SessionRunHook {
 public:
  explicit ExecHook(ExecHookOptions options)
      : options_(std::move(options)), runner_("ExecHook", options_.check) {}
  void Begin(HookHome& home) override;
  void AfterCreateSession(const SessionInfo& session) override;
  void BeforeRun(RunContext& context) override;
  void End(int64_t global_step) override;
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }
  // The listener that runs the command after each checkpoint; nullptr if `on` does not name that
  // event.
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
  std::optional<std::string> RunAt(std::string_view moment, int64_t global_step) const;

  ExecHookOptions options_;
  CommandRunner runner_;
  Listener listener_{*this};
  const HookHome* home_ = nullptr;
  std::optional<std::string> wants_stop_;
};

// A CheckpointSaverListener of a job. It is also a hook, which runs the command `begin` and
// receives the HookHome.
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
