#include "cli/run/session.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/check/early_stopping_check.h"
#include "cli/check/job_check.h"
#include "cli/host/build_info.h"
#include "cli/host/cpu_features.h"
#include "cli/host/signals.h"
#include "cli/job/eval_tasks.h"
#include "cli/job/fold.h"
#include "cli/job/hparams.h"
#include "cli/job/job.h"
#include "cli/job/outside_code.h"
#include "cli/job/step_counts.h"
#include "cli/run/process.h"
#include "cli/run/record/json.h"
#include "cli/run/same_run.h"
#include "core/backend/cpu/program.h"
#include "core/backend/pjrt/log.h"
#include "core/base/process/files.h"
#include "core/base/process/interrupt.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/checkpoint/saver.h"
#include "core/estimator/group/input_files.h"
#include "core/estimator/group/orders.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"
#include "core/ops/all_ops.h"

namespace tpuest::cli {
namespace {

StopSignal process_stop;  // set by signal handlers, so it outlives every session

// Returns the folder of the run that the invocation names: with a run the job is optional.
std::optional<std::string> NamedRun(const Invocation& invocation) {
  const std::optional<std::string>& checkpoint = invocation.checkpoint;
  if (checkpoint && *checkpoint != kAllCheckpoints && !IsNameInRun(*checkpoint)) {
    return ModelDirOf(*checkpoint);
  }
  return invocation.model_dir;
}

std::string JobPath(const Invocation& invocation) {
  if (invocation.job) return *invocation.job;
  const std::string command = invocation.command;
  const auto run = NamedRun(invocation);
  if (!run) {
    throw Error(
        Code::kUsage, fmt::format("'{}' needs a job file", command),
        fmt::format("tpuest {} job.yaml, or --model-dir or --checkpoint of a run", command));
  }
  const bool names_nothing = !DirectoryExists(*run) || (run != invocation.model_dir &&
                                                        !DirectoryExists(*invocation.checkpoint) &&
                                                        !FindCheckpoint(*invocation.checkpoint));
  if (names_nothing) {
    throw Error(Code::kCheckpoint,
                fmt::format("{}: there is no such checkpoint or model_dir",
                            run == invocation.model_dir ? *run : *invocation.checkpoint));
  }
  if (!FileExists(ResolvedJobPath(*run))) {
    throw Error(Code::kUsage,
                fmt::format("{}: is not a run ({} is missing)", *run, ResolvedJobPath(*run)),
                fmt::format("name the job file: tpuest {} job.yaml --checkpoint ...", command));
  }
  return ResolvedJobPath(*run);
}

std::vector<config::Override> OverridesOf(const Invocation& invocation) {
  std::vector<config::Override> overrides;
  // A run that was moved is read at its present path, not at the path in its job.
  if (!invocation.job && !invocation.model_dir) {
    if (const auto run = NamedRun(invocation)) {
      overrides.push_back({"run_config.model_dir=" + *run, "--checkpoint"});
    }
  }
  for (const std::string& text : invocation.overrides) overrides.push_back({text});
  if (invocation.fold) {
    const data::FoldOptions fold = ParseFold(*invocation.fold);
    overrides.push_back(
        {fmt::format("tpuest.fold={{index: {}, count: {}}}", fold.index, fold.count), "--fold"});
  }
  if (invocation.model_dir) {
    overrides.push_back({"run_config.model_dir=" + *invocation.model_dir, "--model-dir"});
  }
  if (invocation.threads) {
    overrides.push_back({fmt::format("run_config.session_config.intra_op_parallelism_threads={}",
                                     *invocation.threads),
                         "--threads"});
  }
  for (const KeyFlag& given : invocation.key_flags) {
    overrides.push_back({given.key + "=" + given.value, given.flag});
  }
  return overrides;
}

// Returns true for a word that can be a key of a job: letters, digits, '_', '.'.
bool IsKeyLike(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  });
}

// Joins an override that the shell has split at its spaces: "optimizer={type: Adam}". Empty if the
// words are no such override.
std::string CutOverride(const Invocation& invocation) {
  for (const std::string& text : invocation.overrides) {
    const auto open = [](std::string_view part) {
      return std::count(part.begin(), part.end(), '{') + std::count(part.begin(), part.end(), '[') -
             std::count(part.begin(), part.end(), '}') - std::count(part.begin(), part.end(), ']');
    };
    if (open(text) <= 0) continue;
    std::string whole = text;
    for (const std::string& word : invocation.arguments) {
      if (open(whole) > 0) whole += " " + word;
    }
    if (open(whole) == 0) return whole;
  }
  return "";
}

// Returns the hint for words that are neither a job file nor KEY=VALUE.
std::string WordHint(const Invocation& invocation) {
  const std::vector<std::string>& words = invocation.arguments;
  const std::string& first = words[0];
  if (DirectoryExists(first)) {
    return fmt::format("to name a run's folder: tpuest {} --model-dir {}", invocation.command,
                       first);
  }
  if (const std::string whole = CutOverride(invocation); !whole.empty()) {
    return fmt::format("the shell splits a value at its spaces unless it is quoted: '{}'", whole);
  }
  if (FileExists(first + ".yaml")) return fmt::format("did you mean '{}.yaml'?", first);
  if (IsKeyLike(first) && words.size() > 1) {
    return fmt::format("write a key and its value as one word: {}={}", first, words[1]);
  }
  return "job files end in .yaml";
}

// Returns the keys that change bits, one per line.
std::string BitsOf(const Job& job) {
  std::string text;
  for (const config::FlatValue& value : FlatJob(job)) {
    if (value.changes_bits) text += fmt::format("{}: {}\n", value.path, value.text);
  }
  return text;
}

}  // namespace

void CheckNoArguments(const Invocation& invocation) {
  if (invocation.arguments.empty()) return;
  const std::string& first = invocation.arguments[0];
  if (invocation.job && IsJobFile(first)) {
    throw Error(Code::kUsage, fmt::format("two job files: {} and {}", *invocation.job, first),
                "a command takes one job file");
  }
  throw Error(Code::kUsage, fmt::format("'{}' is no job file and no KEY=VALUE", first),
              WordHint(invocation));
}

LoadedJob LoadInvocationJob(const Invocation& invocation, config::Sources& sources) {
  CheckNoArguments(invocation);
  LoadedJob loaded =
      LoadJobFile(JobPath(invocation), {invocation.set_files, OverridesOf(invocation)}, sources);
  std::optional<std::string>& model_dir = loaded.job.estimator.run_config.model_dir;
  if (invocation.fold && model_dir) {
    const std::string folder = FoldFolder(*loaded.job.tpuest.fold);
    std::string given = *model_dir;
    while (EndsWith(given, "/")) given.pop_back();
    // A path to the fold's own run already ends in the fold's folder.
    if (BaseName(given) != folder) {
      model_dir = JoinPath(*model_dir, folder);
      std::optional<std::string>& mirror = loaded.job.estimator.run_config.mirror;
      if (mirror) mirror = JoinPath(*mirror, folder);
    }
  }
  std::vector<Fault> faults = ValidateJob(loaded.job);
  if (invocation.no_commands) {
    std::vector<Fault> refused = OutsideCodeOf(loaded.job);
    std::move(refused.begin(), refused.end(), std::back_inserter(faults));
  }
  if (!faults.empty()) throw Error(Code::kUsage, std::move(faults));
  return loaded;
}

Session::Session(const Invocation& invocation, config::Sources& sources, SessionUse use)
    : invocation_(invocation),
      console_(invocation, clock_),
      loaded_(std::make_unique<LoadedJob>(LoadInvocationJob(invocation, sources))),
      registry_(std::make_unique<OpRegistry>(ops::AllOps())),
      backend_(MakeCpuBackend()) {
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
                           .progress = is_worker() ? nullptr : &progress_,
                           .fsync = loaded_->job.tpuest.fsync,
                           .device = device_->backend(),
                           .device_options = DeviceOptionsOf(loaded_->job.tpuest),
                           .hparams = HParamsOf(loaded_->tree),
                           .dry_run = invocation.dry_run || is_worker(),
                           .group = group_.get(),
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
        log().Warning("{} of {} records are bad and left out", bad.size(), records);
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
    LeaveGroup(error);
    throw;
  }
}

// The processes of a group start their devices together, each for its own replicas.
void Session::StartDevice() {
  PjrtProcesses processes;
  if (group_ != nullptr) {
    processes = {.rank = group_->rank(),
                 .size = group_->size(),
                 .keys = group_.get(),
                 .share_machine = ThisProcess(task_).coordinator.starts_with(kLocalGroup)};
  }
  try {
    device_ = std::make_unique<Device>(
        DeviceName(invocation_.device, job()), DevicesOf(job().estimator) / processes.size,
        invocation_.verbose ? PjrtLogging::kLoud : PjrtLogging::kQuiet,
        job().estimator.run_config.session_config.gpu_options, processes);
  } catch (const Error& error) {
    LeaveGroup(error);
    throw;
  }
}

void Session::ReadEnvironment() {
  task_ = ReadTfConfig(RulesOf(job()));
  CheckTask(task_, invocation_);
  const hosts::ProcessPlace place = ThisProcess(task_);
  if (WorksInGroup(job(), place, invocation_)) {
    SpreadReplicas(place, loaded_->job.estimator.run_config);
    JoinGroup(place);
  }
  ApplyTfConfig(task_, loaded_->job.estimator.run_config, log());
}

// After the group has formed, an error of this process ends the whole group.
void Session::JoinGroup(const hosts::ProcessPlace& place) {
  const bool trains = invocation_.command.starts_with("train");
  if (trains && !job().train_spec) return;  // the command reports it
  CheckGroup(job(), place, invocation_);
  hosts::GroupSettings settings = SettingsOf(job(), place);
  settings.links.gives_up = [] { return process_stop.requested(); };
  settings.asked_to_stop = [] { return static_cast<int>(process_stop.kind()); };
  settings.vote = [](int kind) { process_stop.Request(static_cast<StopSignal::Kind>(kind)); };
  settings.end = [](const Error& verdict) {
    EndPjrtSilence();  // a plugin's call may not have returned
    fmt::print(stderr, "error: {}\n", verdict.message());
    std::fflush(stderr);
    _exit(static_cast<int>(verdict.code()));
  };
  const hosts::Meeting& meeting = settings.links.meeting;
  if (meeting.insecure && meeting.token.empty() && place.rank == 0) {
    log().Warning(
        "tpuest.cluster.insecure is true: without a cluster token anyone who reaches {} can join "
        "this job, and can read and change its traffic",
        meeting.chief);
  }
  try {
    group_ = std::make_unique<hosts::Group>(std::move(settings));
  } catch (const Error& error) {
    // A signal arrived here or in process 0 before anything began, so nothing has to be saved.
    if (error.code() != Code::kPreempted) throw;
    const bool interrupted = process_stop.kind() == StopSignal::Kind::kInterrupted;
    throw Error(static_cast<Code>(interrupted ? kInterruptedCode : kTerminatedCode),
                error.faults());
  }
  permit_.emplace([this] { group_->NeedPlace(); });
  try {
    const BuildInfo& build = ThisBuild();
    group_->Agree("build", fmt::format("{} {} {}", build.version, build.commit, build.compiler));
    group_->Agree("processor", CpuText());
    group_->Agree("job", BitsOf(job()));
  } catch (const Error& error) {
    LeaveGroup(error);
    throw;
  }
}

void Session::LeaveGroup(const Error& error) noexcept {
  if (group_ == nullptr) return;
  try {
    group_->Fail(error);
  } catch (const std::exception&) {
    // The other processes notice that this process is gone.
  }
}

// Everything is saved: a process lost now loses no work.
void Session::EndGroup(int exit_code) {
  constexpr double kPatienceSecs = 10;
  if (group_ == nullptr) return;
  try {
    GiveOrder(*group_, EndOrder{.exit_code = exit_code});
  } catch (const Error& error) {
    log().Warning("{}, after the last step", error.message());
  }
  group_->AwaitLeaving(kPatienceSecs);
  const int64_t strangers = group_->strangers();
  if (strangers == 0) return;
  log().Info("refused {} unauthenticated connection{}", strangers, strangers == 1 ? "" : "s");
}

ChiefsInputs Session::TrainingInputs() const {
  return {.train = MakeJobInputFn(job(), job().train_spec->input_fn),
          .evaluations = EvaluationInputs(job())};
}

int Session::FollowChief(const ChiefsInputs& inputs) {
  try {
    return estimator_->FollowChief(inputs).exit_code;
  } catch (const Error& error) {
    LeaveGroup(error);
    throw;
  } catch (const std::exception& error) {
    LeaveGroup(Error(Code::kInternal, error.what()));
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

// Runs CheckSameRun on the mirror first, so that its Error names the folder that has the run.
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
    NoteInput(stream->files());
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

void Session::NoteInput(const std::vector<std::string>& files) {
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

void Session::WriteJob() {
  // The file has the options as the Estimator resolved them; the job keeps the given options.
  const EstimatorOptions given = std::exchange(loaded_->job.estimator, estimator_->options());
  const std::string text = ResolvedText(loaded_->job, loaded_->tree);
  loaded_->job.estimator = given;
  folder_->WriteJob(invocation_.job, text);
}

void Session::Recorder::Begin(HookHome& home) {
  session_.StartRun(home.saver->last_step().value_or(0));
}

void Session::Progress::Report(const ProgressReport& report) {
  constexpr double kBeatSeconds = 10;
  session_.console_.Report(report);
  const double now = session_.clock_.Seconds();
  if (report.activity == "train") step_ = report.step;
  if (!session_.folder_ || now - last_beat_ < kBeatSeconds) return;
  last_beat_ = now;
  try {
    session_.folder_->WriteBeat(step_, session_.clock_.WallSeconds());
  } catch (const Error& error) {
    // A full disk ends the run when something has to be saved.
    session_.log().Debug("{}", error.message());
  }
}

RunStart Session::StartAt(int64_t begin_step) const {
  return {.seed = estimator_->options().run_config.tf_random_seed.value_or(0),
          .device = DeviceName(invocation_.device, job()),
          .input = input_,
          .length = job().train_spec->length(),
          .begin_step = begin_step};
}

void Session::StartRun(int64_t begin_step) {
  folder_.emplace(estimator_->model_dir());
  console_.AppendTo(folder_->log_path());
  WriteJob();
  folder_->WriteStart(invocation_, StartAt(begin_step), clock_.WallSeconds());
  if (const auto& mirror = job().estimator.run_config.mirror) {
    mirror_ = std::make_unique<Mirror>(estimator_->model_dir(), *mirror, log());
  }
}

// Also copies a run that had nothing left to do: its copy may be incomplete.
void Session::FinishMirror() {
  const std::optional<std::string>& mirror = job().estimator.run_config.mirror;
  const bool trains = invocation_.command.starts_with("train") && !invocation_.dry_run;
  if (!mirror || !trains) return;
  if (mirror_ == nullptr) {
    mirror_ = std::make_unique<Mirror>(estimator_->model_dir(), *mirror, log());
  }
  mirror_->Finish();
}

void Session::EndRun(int exit_code, const std::string& status) {
  if (folder_) folder_->WriteEnd(exit_code, status, clock_.WallSeconds());
}

// Marks as done a run that was killed between its last checkpoint and its end: run again, it has no
// steps left and does not start.
void Session::NoteDone() {
  const bool trains = invocation_.command.starts_with("train") && job().train_spec;
  if (folder_ || !trains || invocation_.dry_run) return;
  const std::string& model_dir = estimator_->model_dir();
  if (!RunFolder::ExistsIn(model_dir) || FileLock::IsHeld(LockPath(model_dir))) return;
  RunFolder(model_dir).WriteDone(invocation_, StartAt(0), clock_.WallSeconds());
}

void Session::NoteFailure(Code code, const std::vector<Fault>& faults) noexcept {
  try {
    for (const Fault& fault : faults) console_.Note(LogLevel::kError, fault.message);
    EndRun(static_cast<int>(code), "failed");
  } catch (const std::exception&) {
    // The cause, such as a full disk, also prevents this write; the caller reports it.
  }
}

void Session::JoinLog() {
  const std::string& model_dir = estimator_->model_dir();
  if (invocation_.dry_run || !RunFolder::ExistsIn(model_dir)) return;
  try {
    console_.AppendTo(RunFolder(model_dir).log_path());
  } catch (const Error& error) {
    // A run of another user may be readable but not writable.
    log().Debug("{}", error.message());
  }
}

int Session::Run(const std::function<int()>& body) {
  if (!invocation_.command.starts_with("train")) JoinLog();
  try {
    const int exit_code = body();
    EndRun(exit_code, exit_code == 0 ? "done" : "stopped");
    if (exit_code == 0) NoteDone();
    EndGroup(exit_code);
    FinishMirror();
    return exit_code;
  } catch (const Error& error) {
    NoteFailure(error.code(), error.faults());
    LeaveGroup(error);
    throw;
  } catch (const std::exception& error) {
    LeaveGroup(Error(Code::kInternal, error.what()));
    NoteFailure(Code::kInternal, {{error.what(), "", "", {}, 0}});
    throw;
  }
}

}  // namespace tpuest::cli
