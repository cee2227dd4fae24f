#include "cli/run/run_recorder.h"

#include <utility>

#include "cli/job/device.h"
#include "cli/job/job.h"
#include "cli/run/command_job.h"
#include "cli/run/record/json.h"
#include "cli/run/same_run.h"
#include "core/base/process/files.h"
#include "core/estimator/checkpoint/saver.h"
#include "core/estimator/group/input_files.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {

void RunRecorder::NoteInput(const std::vector<std::string>& files) {
  input_ = InputFilesText(files);
  const std::string& model_dir = estimator_->model_dir();
  if (input_.empty() || CheckpointsIn(model_dir).empty()) return;
  const std::string first = InputOfRun(model_dir).value_or(input_);
  if (IsSameInput(first, input_)) return;
  if (!warned_of_input_) {
    log().Warning(
        "{}: this run began with other input files: {} then, {} now; run.json keeps the first "
        "value",
        model_dir, first, input_);
  }
  warned_of_input_ = true;
  input_ = first;
}

void RunRecorder::WriteJob() {
  // The file has the options as the Estimator resolved them; the job keeps the given options.
  const EstimatorOptions given = std::exchange(loaded_.job.estimator, estimator_->options());
  const std::string text = ResolvedText(loaded_.job, loaded_.tree);
  loaded_.job.estimator = given;
  folder_->WriteJob(invocation_.job, text);
}

void RunRecorder::Begin(HookHome& home) { StartRun(home.saver->last_step().value_or(0)); }

void RunRecorder::Report(const ProgressReport& report) {
  constexpr double kBeatSeconds = 10;
  console_.Report(report);
  const double now = clock_.Seconds();
  if (report.activity == "train") step_ = report.step;
  if (!folder_ || now - last_beat_ < kBeatSeconds) return;
  last_beat_ = now;
  try {
    folder_->WriteBeat(step_, clock_.WallSeconds());
  } catch (const Error& error) {
    // A full disk ends the run when something has to be saved.
    log().Debug("{}", error.message());
  }
}

RunStart RunRecorder::StartAt(int64_t begin_step) const {
  return {.seed = estimator_->options().run_config.tf_random_seed.value_or(0),
          .device = DeviceName(invocation_.device, loaded_.job),
          .input = input_,
          .length = loaded_.job.train_spec->length(),
          .begin_step = begin_step};
}

void RunRecorder::StartRun(int64_t begin_step) {
  folder_.emplace(estimator_->model_dir());
  console_.AppendTo(folder_->log_path());
  WriteJob();
  folder_->WriteStart(invocation_, StartAt(begin_step), clock_.WallSeconds());
  if (const auto& mirror = loaded_.job.estimator.run_config.mirror) {
    mirror_ = std::make_unique<Mirror>(estimator_->model_dir(), *mirror, log());
  }
}

void RunRecorder::FinishMirror() {
  const std::optional<std::string>& mirror = loaded_.job.estimator.run_config.mirror;
  const bool trains = Trains(invocation_) && !invocation_.dry_run;
  if (!mirror || !trains) return;
  if (mirror_ == nullptr) {
    mirror_ = std::make_unique<Mirror>(estimator_->model_dir(), *mirror, log());
  }
  mirror_->Finish();
}

void RunRecorder::End(int exit_code, const std::string& status) {
  if (folder_) folder_->WriteEnd(exit_code, status, clock_.WallSeconds());
}

void RunRecorder::NoteDone() {
  const bool trains = Trains(invocation_) && loaded_.job.train_spec;
  if (folder_ || !trains || invocation_.dry_run) return;
  const std::string& model_dir = estimator_->model_dir();
  if (!RunFolder::ExistsIn(model_dir) || FileLock::IsHeld(LockPath(model_dir))) return;
  RunFolder(model_dir).WriteDone(invocation_, StartAt(0), clock_.WallSeconds());
}

void RunRecorder::NoteFailure(Code code, const std::vector<Fault>& faults) noexcept {
  try {
    for (const Fault& fault : faults) console_.Note(LogLevel::kError, fault.message);
    End(static_cast<int>(code), "failed");
  } catch (const std::exception&) {
    // The cause, such as a full disk, also prevents this write; the caller reports it.
  }
}

void RunRecorder::JoinLog() {
  const std::string& model_dir = estimator_->model_dir();
  if (invocation_.dry_run || !RunFolder::ExistsIn(model_dir)) return;
  try {
    console_.AppendTo(RunFolder(model_dir).log_path());
  } catch (const Error& error) {
    // A run of another user may be readable but not writable.
    log().Debug("{}", error.message());
  }
}

}  // namespace tpuest::cli
