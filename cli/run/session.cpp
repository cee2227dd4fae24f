#include "cli/run/session.h"

#include <memory>
#include <set>
#include <string_view>
#include <utility>

#include "cli/check/early_stopping_check.h"
#include "cli/host/signals.h"
#include "cli/job/eval_tasks.h"
#include "cli/job/hparams.h"
#include "cli/job/job.h"
#include "cli/job/step_counts.h"
#include "cli/run/process.h"
#include "cli/run/same_run.h"
#include "core/backend/cpu/program.h"
#include "core/backend/pjrt/log.h"
#include "core/base/process/files.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/checkpoint/saver.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"
#include "core/ops/all_ops.h"

namespace tpuest::cli {
namespace {

StopSignal process_stop;  // set by signal handlers, so it outlives every session

}  // namespace

Session::Session(const Invocation& invocation, config::Sources& sources, SessionUse use)
    : invocation_(invocation),
      console_(invocation, clock_),
      loaded_(std::make_unique<LoadedJob>(LoadInvocationJob(invocation, sources))),
      registry_(std::make_unique<OpRegistry>(ops::AllOps())),
      backend_(MakeCpuBackend()),
      recorder_(invocation, *loaded_, console_, clock_, estimator_) {
  ChooseCpuIsa(loaded_->job, DeviceName(invocation.device, loaded_->job) == "cpu");
  const PreemptionOptions& preemption = job().tpuest.preemption;
  HandleSignals(process_stop, preemption.signals, preemption.grace_secs);
  LogOverrides();
  ReadEnvironment();
  StartDevice();
  if (use == SessionUse::kTraining) ResolveCounts();
  const EstimatorHome home{.registry = *registry_,
                           .backend = *backend_,
                           .log = log(),
                           .clock = clock_,
                           .stop = process_stop,
                           .progress = is_worker() ? nullptr : &recorder_,
                           .fsync = loaded_->job.tpuest.fsync,
                           .device = device_->backend(),
                           .device_options = DeviceOptionsOf(loaded_->job.tpuest),
                           .hparams = HParamsOf(loaded_->tree),
                           .dry_run = invocation.dry_run || is_worker(),
                           .group = member_.group(),
                           .tensorflow_words = invocation.log_format == LogFormat::kTensorFlow};
  estimator_ =
      std::make_unique<Estimator>(MakeJobModelFn(loaded_->job), loaded_->job.estimator, home);
  ListBadRecords();
}

Session::~Session() { console_.Clear(); }

const Job& Session::job() const { return loaded_->job; }

void Session::ListBadRecords() {
  // Each input that reads a folder finds the same unreadable folders in it.
  const auto warned = std::make_shared<std::set<std::string>>();
  for (auto& [name, input] : loaded_->job.input_fns) {
    input.data_errors.report = [this, warned](const std::vector<data::BadRecord>& bad,
                                              int64_t records) {
      const std::lock_guard lock(bad_records_mutex_);
      if (records == 0) {
        for (const data::BadRecord& of : bad) {
          if (!warned->insert(of.file).second) continue;
          log().Warning("{}: {}; everything below it is skipped", of.file, of.why);
        }
        return;
      }
      if (invocation_.dry_run || is_worker()) {
        log().Warning("{} of {} records are bad and were skipped", bad.size(), records);
        return;
      }
      const std::string path = AddBadRecords(estimator_->model_dir(), bad);
      log().Warning("{} of {} records are bad and were skipped: see {}", bad.size(), records, path);
    };
  }
}

void Session::LogOverrides() {
  for (const config::AppliedOverride& applied : loaded_->overrides) {
    if (applied.given != applied.path) log().Info("{} is {}", applied.given, applied.path);
  }
  for (const std::string& note : loaded_->tree.notes) log().Warning("{}", note);
}

void Session::ResolveCounts() {
  try {
    for (const EpochCount& count : ResolveStepCounts(loaded_->job)) {
      log().Info("{}", count.Text());
    }
  } catch (const Error& error) {
    member_.Leave(error);
    throw;
  }
}

// The processes of a group start their devices together, each for its own replicas.
void Session::StartDevice() {
  PjrtProcesses processes;
  if (hosts::Group* const group = member_.group()) {
    processes = {.rank = group->rank(),
                 .size = group->size(),
                 .keys = group,
                 .share_machine = ThisProcess(task_).coordinator.starts_with(kLocalGroup)};
  }
  try {
    device_ = std::make_unique<Device>(
        DeviceName(invocation_.device, job()), DevicesOf(job().estimator) / processes.size,
        invocation_.verbose ? PjrtLogging::kLoud : PjrtLogging::kQuiet,
        job().estimator.run_config.session_config.gpu_options, processes);
  } catch (const Error& error) {
    member_.Leave(error);
    throw;
  }
}

void Session::ReadEnvironment() {
  task_ = ReadTfConfig(RulesOf(job()));
  CheckTask(task_, invocation_);
  const hosts::ProcessPlace place = ThisProcess(task_);
  if (WorksInGroup(job(), place, invocation_)) {
    SpreadReplicas(place, loaded_->job.estimator.run_config);
    member_.Join(job(), place, invocation_, process_stop, log());
  }
  ApplyTfConfig(task_, loaded_->job.estimator.run_config, log());
}

ChiefsInputs Session::TrainingInputs() const {
  return {.train = MakeJobInputFn(job(), job().train_spec->input_fn),
          .evaluations = EvaluationInputs(job())};
}

int Session::FollowChief(const ChiefsInputs& inputs) {
  try {
    return estimator_->FollowChief(inputs).exit_code;
  } catch (const Error& error) {
    member_.Leave(error);
    throw;
  } catch (const std::exception& error) {
    member_.Leave(Error(Code::kInternal, error.what()));
    throw;
  }
}

std::optional<std::string> Session::Checkpoint(const std::string& configured) {
  const std::string given = invocation_.checkpoint.value_or(configured);
  const std::string& model_dir = estimator_->model_dir();
  if (given == kLatest || given == model_dir) return std::nullopt;
  std::string found = ResolveCheckpoint(given, model_dir);
  const std::optional<CheckpointState> state =
      IsNameInRun(given) || !DirectoryExists(given) ? std::nullopt : ReadableState(given);
  const bool is_of_run = state && found != SavedModelVariables(given);
  if (!is_of_run) return found;
  // For the newest checkpoint of another run's folder, only the existence of its index was checked.
  if (allows_older()) return LoadNewest(given, log())->prefix;
  if (found == state->model_checkpoint_path) return found;
  throw Error(Code::kCheckpoint,
              fmt::format("{}: names {} as the newest checkpoint, which does not exist",
                          CheckpointStatePath(given), state->model_checkpoint_path),
              fmt::format("--allow-older uses the previous checkpoint, {}", found));
}

bool Session::HasCheckpoint() const {
  try {
    return LatestCheckpoint(estimator_->model_dir()).has_value();
  } catch (const Error&) {
    return true;  // the reader of a damaged state file reports it
  }
}

// With `resume: never` CheckResume looks at the mirror, so that its Error names the folder that has
// the run.
void Session::BringBackRun() {
  const std::optional<std::string>& mirror = job().estimator.run_config.mirror;
  if (!mirror) return;
  const std::string& model_dir = estimator_->model_dir();
  if (!HasNoRun(model_dir) || HasNoRun(*mirror)) return;
  if (job().tpuest.resume == "never") CheckResume(job(), *mirror);
  if (invocation_.dry_run) {
    return log().Info("{} has no run: it would be copied back from {}", model_dir, *mirror);
  }
  BringBack(*mirror, model_dir, log());
}

TrainLength Session::Length() {
  ResolveCounts();
  TrainLength length = job().train_spec->length();
  length.unfinished_since = RunFolder::UnfinishedSince(estimator_->model_dir(), length);
  return length;
}

InputFn Session::TrainInput() {
  return [this,
          open = MakeJobInputFn(job(), job().train_spec->input_fn)](const InputContext& context) {
    std::unique_ptr<BatchStream> stream = open(context);
    recorder_.NoteInput(stream->files());
    return stream;
  };
}

JobHooks Session::MakeTrainHooks() {
  for (const std::string& folder : UnwrittenEvalDirs(job(), estimator_->model_dir())) {
    log().Warning(
        "eval_dir {}: the folder does not exist, and no evaluation of this job writes to it",
        folder);
  }
  return MakeHooks(HooksOf(job()), job().train_spec->saving_listeners,
                   [this](const InMemoryEvaluatorHookOptions& options) {
                     return estimator_->InMemoryEvaluator(TaskOf(job(), options),
                                                          options.every_n_iter);
                   });
}

int Session::Run(const std::function<int()>& body) {
  if (!Trains(invocation_)) recorder_.JoinLog();
  try {
    const int exit_code = body();
    recorder_.End(exit_code, exit_code == 0 ? "done" : "stopped");
    if (exit_code == 0) recorder_.NoteDone();
    member_.End(exit_code, log());
    recorder_.FinishMirror();
    return exit_code;
  } catch (const Error& error) {
    recorder_.NoteFailure(error.code(), error.faults());
    member_.Leave(error);
    throw;
  } catch (const std::exception& error) {
    member_.Leave(Error(Code::kInternal, error.what()));
    recorder_.NoteFailure(Code::kInternal, {{error.what(), "", "", {}, 0}});
    throw;
  }
}

}  // namespace tpuest::cli
