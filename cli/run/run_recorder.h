#pragma once
// The files that a command leaves in the run's folder: job, run.json, log and copy.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/job/job_fwd.h"
#include "cli/run/record/folder.h"
#include "cli/run/record/mirror.h"
#include "cli/shell/console.h"
#include "cli/shell/invocation.h"
#include "core/base/clock.h"
#include "core/estimator/estimator.h"

namespace tpuest::cli {

// As a hook it writes job, run.json and log to the run's folder when training starts: a job that
// cannot run changes neither the folder nor the job of an earlier run in it. As a listener it shows
// a run's progress, and updates the sign of life in its run.json. All arguments must outlive it;
// `estimator` may be made later, but before any call except Report.
class RunRecorder final : public SessionRunHook, public ProgressListener {
 public:
  RunRecorder(const Invocation& invocation, LoadedJob& loaded, Console& console, const Clock& clock,
              const std::unique_ptr<Estimator>& estimator)
      : invocation_(invocation),
        loaded_(loaded),
        console_(console),
        clock_(clock),
        estimator_(estimator) {}

  void Begin(HookHome& home) override;
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }
  void Report(const ProgressReport& report) override;

  // Records what identifies the input's files. A resumed run keeps the first record and warns if
  // the files are different.
  void NoteInput(const std::vector<std::string>& files);
  // Appends the lines of evaluate and predict to the log of the run.
  void JoinLog();
  // Writes the outcome of a run that has started to run.json.
  void End(int exit_code, const std::string& status);
  // The same for an error, which also goes into the log.
  void NoteFailure(Code code, const std::vector<Fault>& faults) noexcept;
  // Marks as done a run that was killed between its last checkpoint and its end: run again, it has
  // no steps left and does not start.
  void NoteDone();
  // Waits for the copy of a training. Also copies a run that had nothing left to do: its copy may
  // be incomplete.
  void FinishMirror();

 private:
  [[nodiscard]] Log& log() { return console_.log(); }
  void WriteJob();
  void StartRun(int64_t begin_step);
  [[nodiscard]] RunStart StartAt(int64_t begin_step) const;

  const Invocation& invocation_;
  LoadedJob& loaded_;
  Console& console_;
  const Clock& clock_;
  const std::unique_ptr<Estimator>& estimator_;
  std::optional<RunFolder> folder_;  // empty until a run has started
  std::unique_ptr<Mirror> mirror_;   // nullptr: nothing is copied
  std::string input_;                // identifies the files that the run began with
  bool warned_of_input_ = false;
  std::optional<int64_t> step_;  // that training has reported
  double last_beat_ = 0;         // seconds of the clock
};

}  // namespace tpuest::cli
