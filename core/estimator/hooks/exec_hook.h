#pragma once
// Hooks that run the user's commands at moments of a run: to copy checkpoints, to notify somebody.
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

// What a command is told.
struct RunEvent {
  std::string_view name;  // "begin", "checkpoint_saved", ...
  int64_t global_step = 0;
  std::optional<StepRecord> last = {};                     // the last step, where one was made
  const std::map<std::string, Tensor>* metrics = nullptr;  // of an evaluation
};

// Runs a command in a process of its own and waits for it. It is told of the event in its
// environment (TPUEST_EVENT, TPUEST_GLOBAL_STEP, TPUEST_MODEL_DIR, TPUEST_CHECKPOINT, TPUEST_LOSS,
// TPUEST_LEARNING_RATE) and by a line of JSON in its input. What it prints goes to stderr, but for
// lines {"stop": REASON}, which are its answer.
class CommandRunner {
 public:
  // `name` stands in messages.
  CommandRunner(std::string name, bool check) : name_(std::move(name)), check_(check) {}
  void Attach(const HookHome& home) { home_ = &home; }
  // Puts in {model_dir}, {checkpoint} (prefix of the checkpoint of this step) and {global_step},
  // and runs the command; an empty one is none. An exit code other than 0, a signal, or a program
  // that is not there is a warning, or with `check` an Error kGate. Returns the reason for which
  // the command wants the run to end.
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

// Runs one command at the moments that `on` names, once for each: begin, end, evaluated,
// checkpoint_saved.
class ExecHook final : public SessionRunHook {
 public:
  explicit ExecHook(ExecHookOptions options)
      : options_(std::move(options)), runner_("ExecHook", options_.check) {}
  void Begin(HookHome& home) override;
  void AfterCreateSession(const SessionInfo& session) override;
  void BeforeRun(RunContext& context) override;
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
  std::optional<std::string> RunAt(std::string_view moment, int64_t global_step) const;

  ExecHookOptions options_;
  CommandRunner runner_;
  Listener listener_{*this};
  const HookHome* home_ = nullptr;
  std::optional<std::string> wants_stop_;
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
