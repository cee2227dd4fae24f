#include "cli/look/rerun.h"

#include <filesystem>

#include "cli/job/job.h"
#include "cli/run/record/folder.h"
#include "core/base/process/files.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"
#include "core/io/increment.h"

namespace tpuest::cli {
namespace {

namespace fs = std::filesystem;

// Brings the checkpoint into the folder without a copy of its bytes: hard links keep it where the
// run removes it meanwhile; on another file system symbolic links must do.
void BorrowFiles(const std::string& prefix, const std::string& folder) {
  const std::string beginning = BaseName(prefix) + ".";
  const fs::path from = fs::absolute(DirName(prefix).empty() ? "." : DirName(prefix));
  for (const std::string& name : ListDirectory(from.string())) {
    if (!name.starts_with(beginning)) continue;
    const fs::path to = fs::path(folder) / name;
    std::error_code error;
    fs::create_hard_link(from / name, to, error);
    if (error) fs::create_symlink(from / name, to);
  }
}

// Makes the checkpoint, with its base checkpoints, the folder's newest.
void Borrow(const std::string& prefix, const std::string& folder) {
  BorrowFiles(prefix, folder);
  if (const std::optional<IncrementBase> base = BaseOf(prefix)) BorrowFiles(base->prefix, folder);
  const std::string own = JoinPath(folder, BaseName(prefix));
  WriteCheckpointState(folder, {.model_checkpoint_path = own, .all_model_checkpoint_paths = {own}});
}

// The invocation of the run's job with `folder` as model_dir, which saves only at its end.
Invocation InvocationFor(const Invocation& given, const NamedRun& run, const std::string& folder) {
  Invocation invocation = given;
  invocation.arguments.clear();
  invocation.job = ResolvedJobPath(run.model_dir);
  invocation.model_dir = folder;
  invocation.checkpoint.reset();
  invocation.key_flags.push_back({given.command, "run_config.save_checkpoints_secs", "null"});
  invocation.key_flags.push_back(
      {given.command, "run_config.save_checkpoints_steps", "1000000000"});
  return invocation;
}

bool SeedsByName(const NamedRun& run) {
  const std::optional<std::string> of =
      run.checkpoint ? run.checkpoint : LatestCheckpoint(run.model_dir);
  return of && tpuest::SeedsByName(*of);
}

class StopAt final : public SessionRunHook {
 public:
  explicit StopAt(int64_t step) : step_(step) {}
  void BeforeRun(RunContext& context) override {
    context.LimitIterations(step_ - context.global_step());
  }
  void AfterRun(RunContext& context, const RunValues& values) override {
    if (values.global_step >= step_) context.RequestStop("trained again");
  }

 private:
  int64_t step_;
};

}  // namespace

NamedRun RunOf(const Invocation& invocation) {
  const std::string& command = invocation.command;
  std::vector<std::string> named = invocation.arguments;
  if (invocation.model_dir) named.push_back(*invocation.model_dir);
  if (named.size() != 1) {
    throw Error(Code::kUsage, fmt::format("{} takes one run or one checkpoint", command),
                fmt::format("tpuest {} runs/mnist", command));
  }
  const std::string& path = named[0];
  NamedRun run{.model_dir = ModelDirOf(path), .checkpoint = std::nullopt};
  if (!DirectoryExists(path)) {
    run.checkpoint = FindCheckpoint(path);
    if (!run.checkpoint) {
      throw Error(Code::kCheckpoint, fmt::format("{}: no such run or checkpoint exists", path));
    }
  }
  if (FileExists(ResolvedJobPath(run.model_dir))) return run;
  throw Error(Code::kUsage,
              fmt::format("{}: is not a run ({} is missing)", path, ResolvedJobPath(run.model_dir)),
              "name a folder that tpuest has trained in");
}

std::optional<std::string> CheckpointBefore(const std::string& model_dir, int64_t step) {
  std::optional<std::string> before;
  for (const auto& [at, prefix] : CheckpointsIn(model_dir)) {
    if (at < step) before = prefix;
  }
  return before;
}

Rerun::Rerun(const Invocation& invocation, const NamedRun& run,
             const std::optional<std::string>& from, config::Sources& sources)
    : folder_(MakeTemporaryFolder("tpuest")), invocation_(InvocationFor(invocation, run, folder_)) {
  try {
    if (from) {
      start_ = StepOfCheckpoint(*from).value_or(0);
      Borrow(*from, folder_);
    }
    session_ = std::make_unique<Session>(invocation_, sources);
    if (!from && SeedsByName(run)) session_->estimator().StartByNames();
    if (session_->job().train_spec) return;
    throw Error(Code::kUsage, "the run's job has no train_spec, so no step can be trained again");
  } catch (...) {
    session_.reset();
    RemoveTree(folder_);
    throw;
  }
}

Rerun::~Rerun() {
  session_.reset();
  RemoveTree(folder_);
}

int64_t Rerun::TrainTo(int64_t step, SessionRunHook* watch, const Wrap& wrap) {
  const Job& job = session_->job();
  InputFn input_fn = session_->TrainInput();
  if (wrap) {
    input_fn = [own = std::move(input_fn), &wrap](const InputContext& context) {
      return wrap(own(context));
    };
  }
  StopAt stop(step);
  TrainHooks hooks{&session_->recorder(), &stop};
  if (watch != nullptr) hooks.hooks.push_back(watch);
  TrainResult result;
  session_->log().Info("Training steps {} to {} again", start_ + 1, step);
  session_->Run([&] {
    // `steps` counts from the start of a call of train, and the stretch may be of several calls.
    TrainLength length = job.train_spec->length();
    if (length.steps) length = {.steps = std::nullopt, .max_steps = step};
    result = session_->estimator().Train(input_fn, length, hooks);
    return result.exit_code;
  });
  session_->console().Clear();
  if (result.exit_code == 0) return result.global_step;
  throw Error(static_cast<Code>(result.exit_code),
              fmt::format("{} was {}", invocation_.command, result.stopped_because),
              "run it again: it keeps no intermediate results");
}

}  // namespace tpuest::cli
