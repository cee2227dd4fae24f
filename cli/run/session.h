#pragma once
// A session is shared by train, evaluate, predict and similar commands: it owns the checked job, an
// estimator, the run's folder, log and signals.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cli/job/device.h"
#include "cli/job/job_fwd.h"
#include "cli/run/command_job.h"
#include "cli/run/group_member.h"
#include "cli/run/run_recorder.h"
#include "cli/run/tf_config.h"
#include "cli/shell/console.h"
#include "cli/shell/invocation.h"
#include "config/diagnostics.h"
#include "core/estimator/estimator.h"
#include "core/estimator/hooks/hook_factory.h"
#include "core/estimator/model_dir/checkpoint_name.h"

namespace tpuest::cli {

// The purpose of a session. A command that only uses a run's model needs no training input, which
// may be on another machine.
enum class SessionUse { kTraining, kModel };

// The constructor checks the whole job and throws Error kUsage with its faults before anything is
// written. `invocation` must outlive the session.
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
  // Returns this process's task by TF_CONFIG.
  [[nodiscard]] const TfConfig& task() const { return task_; }
  // Returns the prefix that --checkpoint, otherwise `configured`, means in model_dir; nullopt means
  // the newest. Error kCheckpoint if it does not exist; if the newest checkpoint of another folder
  // is gone; and, with --allow-older, if all checkpoints there are damaged.
  [[nodiscard]] std::optional<std::string> Checkpoint(
      const std::string& configured = std::string(kLatest));

  // True if an older checkpoint may replace a damaged newest one: --allow-older.
  [[nodiscard]] bool allows_older() const { return invocation_.allow_older; }

  // Returns true if model_dir's state file names a checkpoint, or is damaged.
  [[nodiscard]] bool HasCheckpoint() const;

  // Copies the run back from run_config.mirror if model_dir has none. Called before a run is read.
  void BringBackRun();
  // True if another process of this group is the chief, and this one only computes its replicas.
  [[nodiscard]] bool is_worker() const { return member_.is_worker(); }
  // Follows the chief's control messages as a worker, and returns the exit code.
  int FollowChief(const ChiefsInputs& inputs);
  // The inputs of the train_spec, which the job must have, and of its evaluations.
  [[nodiscard]] ChiefsInputs TrainingInputs() const;
  // Runs `body` and returns its exit code. If a run has started, writes its outcome to run.json and
  // its errors to the log, then rethrows them.
  int Run(const std::function<int()>& body);

  // Returns the length of the train_spec, which the job must have, counted from the step at which
  // an unfinished run began.
  [[nodiscard]] TrainLength Length();
  // Returns the input of the train_spec, which the job must have; the names of the files that it
  // opens are kept for run.json.
  [[nodiscard]] InputFn TrainInput();
  // The hooks and listeners of the train_spec.
  [[nodiscard]] JobHooks MakeTrainHooks();

  // The hook that writes job, run.json and log to the run's folder when training starts. A job that
  // cannot run changes neither the folder nor the job of an earlier run in it.
  [[nodiscard]] SessionRunHook& recorder() { return recorder_; }

 private:
  // Makes inputs report bad records in the log and list them in the run's bad_records.tsv.
  void ListBadRecords();
  void LogOverrides();
  // Converts the job's counts in epochs to steps, and logs them.
  void ResolveCounts();
  void ReadEnvironment();
  void StartDevice();

  const Invocation& invocation_;
  SystemClock clock_;
  Console console_;
  std::unique_ptr<LoadedJob> loaded_;
  std::unique_ptr<OpRegistry> registry_;
  std::unique_ptr<Backend> backend_;
  GroupMember member_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Estimator> estimator_;
  TfConfig task_;
  RunRecorder recorder_;
  std::mutex bad_records_mutex_;  // inputs open concurrently
};

}  // namespace tpuest::cli
