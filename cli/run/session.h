#pragma once
// A session is what train, evaluate, predict and others share: the job joined with its parts, an
// estimator, the run's folder, log and signals.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cli/job/device.h"
#include "cli/job/job_fwd.h"
#include "cli/run/record/folder.h"
#include "cli/run/record/mirror.h"
#include "cli/run/tf_config.h"
#include "cli/shell/console.h"
#include "cli/shell/invocation.h"
#include "config/diagnostics.h"
#include "core/base/process/write_permit.h"
#include "core/estimator/estimator.h"
#include "core/estimator/hooks/hook_factory.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/hosts/group.h"
#include "core/hosts/launch.h"

namespace tpuest::cli {

// evaluate --checkpoint all: each of the run's checkpoints, oldest first.
inline constexpr std::string_view kAllCheckpoints = "all";

// Error kUsage where words are left that are neither a job file nor KEY=VALUE.
void CheckNoArguments(const Invocation& invocation);

// The job of an invocation with its flags as overrides: from the job file, or from the run that
// --checkpoint or --model-dir names. Error kUsage with every fault, kCheckpoint where the run or
// its checkpoint is not there.
[[nodiscard]] LoadedJob LoadInvocationJob(const Invocation& invocation, config::Sources& sources);

// What a session is for. What only looks at a run's model needs no training input, which another
// machine may have.
enum class SessionUse { kTraining, kModel };

// Joins the parts when it is made: Error kUsage for a job with faults, before anything is written.
// `invocation` outlives it.
class Session {
 public:
  Session(const Invocation& invocation, config::Sources& sources,
          SessionUse use = SessionUse::kTraining);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] const Job& job() const;
  [[nodiscard]] Estimator& estimator() { return *estimator_; }
  [[nodiscard]] Console& console() { return console_; }
  [[nodiscard]] Log& log() { return console_.log(); }
  // What TF_CONFIG makes of this process.
  [[nodiscard]] const TfConfig& task() const { return task_; }
  // The prefix that --checkpoint, or else `configured`, means in model_dir; nullopt: the newest.
  // Error kCheckpoint if there is none, or if the newest of another folder is gone or, with
  // --allow-older, damaged as all others there.
  [[nodiscard]] std::optional<std::string> Checkpoint(
      const std::string& configured = std::string(kLatest));

  // Whether an older checkpoint stands in for a newest one that is damaged: --allow-older.
  [[nodiscard]] bool allows_older() const { return invocation_.allow_older; }

  // True where model_dir's state file names a checkpoint that is there, or that should be.
  [[nodiscard]] bool HasCheckpoint() const;

  // Before a run is looked at: brings it back from run_config.mirror, where model_dir has none.
  void BringBackRun();
  // Whether another process of this group decides, and this one only computes its replicas.
  [[nodiscard]] bool is_worker() const { return group_ != nullptr && !group_->is_chief(); }
  // As such a process: does its part of what the chief orders, and returns its exit code.
  int FollowChief(const ChiefsInputs& inputs);
  // The inputs of the train_spec, which the job must have, and of its evaluations.
  [[nodiscard]] ChiefsInputs TrainingInputs() const;
  // Runs `body` and returns its exit code. Where a run has started, its outcome is put into
  // run.json, and the faults that it throws into the log; they are thrown on.
  int Run(const std::function<int()>& body);

  // The length of the train_spec, which the job must have, and where the run before it stands.
  [[nodiscard]] TrainLength Length();
  // The input of the train_spec, which the job must have; the files that it opens are kept for
  // run.json.
  [[nodiscard]] InputFn TrainInput();
  // The hooks and listeners of the train_spec.
  [[nodiscard]] JobHooks MakeTrainHooks();

  // The hook that leaves job, run.json and log in the run's folder once training starts: a job that
  // cannot be run leaves the folder, and the job of an earlier run in it, as they are.
  [[nodiscard]] SessionRunHook& recorder() { return recorder_; }

 private:
  class Recorder final : public SessionRunHook {
   public:
    explicit Recorder(Session& session) : session_(session) {}
    void Begin(HookHome& home) override;
    [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }

   private:
    Session& session_;
  };

  // Shows a run's progress, and leaves a sign of life in its run.json.
  class Progress final : public ProgressListener {
   public:
    explicit Progress(Session& session) : session_(session) {}
    void Report(const ProgressReport& report) override;

   private:
    Session& session_;
    std::optional<int64_t> step_;
    double last_beat_ = 0;  // seconds of the clock
  };

  // Keeps what tells the input's files apart. A run that goes on keeps what it began with, and
  // other files are warned of.
  void NoteInput(const std::vector<std::string>& files);
  // Ends the group with this exit code, or leaves it because of an error.
  void EndGroup(int exit_code);
  void LeaveGroup(const Error& error) noexcept;
  // Makes inputs tell bad records in the log and list them in the run's bad_records.tsv.
  void ListBadRecords();
  void LogOverrides();
  // Makes the job's counts in epochs steps, and says what they are.
  void ResolveCounts();
  void ReadEnvironment();
  void JoinGroup(const hosts::ProcessPlace& place);
  void StartDevice();
  void WriteJob();
  void StartRun(int64_t begin_step);
  [[nodiscard]] RunStart StartAt(int64_t begin_step) const;
  void EndRun(int exit_code, const std::string& status);
  void NoteDone();
  void FinishMirror();
  void NoteFailure(Code code, const std::vector<Fault>& faults) noexcept;
  // Puts the lines of evaluate and predict into the log of the run.
  void JoinLog();

  const Invocation& invocation_;
  SystemClock clock_;
  Console console_;
  std::unique_ptr<LoadedJob> loaded_;
  std::unique_ptr<OpRegistry> registry_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<hosts::Group> group_;  // nullptr: this process trains alone, or not at all
  std::optional<WritePermit> permit_;    // of the group
  std::unique_ptr<Device> device_;
  std::unique_ptr<Estimator> estimator_;
  TfConfig task_;
  std::optional<RunFolder> folder_;  // empty until a run has started
  std::unique_ptr<Mirror> mirror_;   // nullptr: nothing is copied
  std::string input_;                // tells the files apart that the run began with
  bool warned_of_input_ = false;
  Recorder recorder_{*this};
  Progress progress_{*this};
  std::mutex bad_records_mutex_;  // inputs open side by side
};

}  // namespace tpuest::cli
