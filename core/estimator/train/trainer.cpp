#include "core/estimator/train/trainer.h"

#include <algorithm>

#include "core/base/process/files.h"
#include "core/base/process/mounted.h"
#include "core/estimator/checkpoint/rows/row_seen.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/saved/train_goal.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/checkpoint/warm_start/warm_start.h"
#include "core/estimator/contract/seek_way.h"
#include "core/estimator/contract/wrapped_stream.h"
#include "core/estimator/group/group_rows.h"
#include "core/estimator/group/input_files.h"
#include "core/estimator/model_dir/leftovers.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/step/model/scaffold.h"
#include "core/io/checkpoint_state.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

// Makes the run's folders. An Error about them names the option model_dir.
void MakeRunFolders(const std::string& model_dir) {
  try {
    MakeDirectories(PrivateDir(model_dir));
  } catch (const Error& error) {
    const Code code = error.code() == Code::kData ? Code::kUsage : error.code();
    std::vector<Fault> faults = error.faults();
    faults.front().key = "run_config.model_dir";
    throw Error(code, std::move(faults));
  }
}

// A stream that ends before a short batch, because every replica of a strategy takes a full batch
// of its own.
class FullBatches final : public WrappedStream {
 public:
  FullBatches(std::unique_ptr<BatchStream> of, int64_t rows)
      : WrappedStream(std::move(of)), rows_(rows) {}
  [[nodiscard]] std::optional<Batch> Next() override {
    std::optional<Batch> batch = of().Next();
    return batch && RowsOf(*batch) == rows_ ? std::move(batch) : std::nullopt;
  }

 private:
  const int64_t rows_;
};

// Whether the previous run has saved a checkpoint of its own. Runs without max_steps need to know
// this, because the same command would begin the next run.
bool HasSaved(const TrainLength& length, const SavedState& newest) {
  return length.unfinished_since && newest.global_step > *length.unfinished_since &&
         !newest.resume.cut;
}

// Whether the newest checkpoint is the last one of the training.
bool IsLast(const TrainLength& length, const SavedState& newest) {
  if (length.max_steps) return newest.global_step >= *length.max_steps;
  return length.steps && HasSaved(length, newest) && !newest.resume.goal;
}

// Refuses to resume with another seed than the one that generates the rows' initial values.
void CheckSeed(const TrainPlan& plan) {
  const std::optional<uint64_t> drew = plan.newest ? plan.newest->resume.seed : std::nullopt;
  if (!drew || drew == plan.resume.seed) return;
  throw Error(Code::kUsage,
              fmt::format("the initial values of the table rows that {} lacks depend on the seed "
                          "{}, but the run's is {}",
                          plan.newest->prefix, *drew, *plan.resume.seed),
              fmt::format("run_config.tf_random_seed={}", *drew))
      .Key("run_config.tf_random_seed");
}

// Refuses tables that checkpoints would have to store by rows, but that are not stored by rows in
// memory.
void CheckFitWhole(const Graph& graph, int64_t whole_table_bytes, const std::string& why,
                   const std::string& hint) {
  for (const TableVariables& table : TablesOf(graph)) {
    const Variable& weights = *table.front();
    const int64_t bytes = weights.shape.elements() * static_cast<int64_t>(sizeof(float));
    if (bytes <= whole_table_bytes) continue;
    throw Error(
        Code::kUsage,
        fmt::format("\"{}\" has {} bytes, and {}; tpuest.embeddings.whole_table_bytes is {}",
                    weights.name, bytes, why, whole_table_bytes),
        hint)
        .At(weights.handle.node->origin());
  }
}

void CheckListeners(const TrainHooks& hooks, bool saves) {
  if (hooks.saving_listeners.empty() || saves) return;
  throw Error(
      Code::kUsage,
      "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
      "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs.")
      .Key("run_config.save_checkpoints_steps");
}

}  // namespace

std::unique_ptr<RunLock> LockRun(const EstimatorContext& context) {
  const std::string& model_dir = context.model_dir;
  const FolderAbilities abilities = AbilitiesOf(PrivateDir(model_dir));
  auto lock = std::make_unique<RunLock>();
  if (abilities.renames) lock->file = FileLock::TryAcquire(LockPath(model_dir));
  std::string other = "another process";
  if (abilities.is_mounted && (lock->file != nullptr || !abilities.renames)) {
    const StopSignal& stop = context.home.stop;
    lock->beats = Heartbeat::TryBegin({.model_dir = model_dir,
                                       .clock = context.home.clock,
                                       .gives_up = [&stop] { return stop.requested(); }},
                                      other);
  }
  if (abilities.is_mounted ? lock->beats != nullptr : lock->file != nullptr) return lock;
  throw Error(Code::kUsage, fmt::format("{}: {} trains in this model_dir", model_dir, other),
              "wait for it, or name another model_dir")
      .Key("run_config.model_dir");
}

TrainResult Trainer::Train(const InputFn& input_fn, const TrainLength& length,
                           const TrainHooks& hooks) {
  ThrowFaults(Validate(length, context_.options.use_tpu));
  goal_ = length.max_steps;
  std::unique_ptr<RunLock> lock;
  const bool may_lock = !context_.home.dry_run && DirectoryExists(PrivateDir(context_.model_dir));
  if (may_lock) lock = LockRun(context_);
  std::optional<SavedState> newest = LoadNewest(context_.model_dir, context_.home.log);
  if (newest) newest->dealt_by_mod = context_.options.embeddings.dealt_by_mod;
  if (newest && IsLast(length, *newest)) {
    // A missing input fails the command even if there is nothing left to train.
    (void)OpenInput(input_fn, context_.Seed(newest->resume));
    return AlreadyDone(length, *newest, lock != nullptr);
  }
  return Run(input_fn, length, hooks, std::move(newest), std::move(lock));
}

// The process that saved the checkpoint may have been killed before it removed its old files.
TrainResult Trainer::AlreadyDone(const TrainLength& length, const SavedState& newest,
                                 bool has_lock) {
  if (length.steps) goal_ = newest.global_step;
  if (has_lock) {
    const RunConfig& config = context_.options.run_config;
    TidyFinishedRun(context_.model_dir, newest.prefix,
                    static_cast<size_t>(config.keep_checkpoint_max.value_or(0)),
                    context_.home.fsync);
    MetricsLog metrics(context_.model_dir);
    CutMetrics(metrics, context_, newest.global_step);
  }
  TrainResult result{.global_step = newest.global_step, .checkpoint = newest.prefix};
  if (length.max_steps) {
    context_.home.log.Info("Skipping training since max_steps has already saved.");
    result.stopped_because = "already at max_steps";
  } else {
    context_.home.log.Info("Skipping training: the previous run was killed after its last step.");
    result.stopped_because = length.steps ? "steps" : "end of input";
  }
  return result;
}

TrainResult Trainer::Run(const InputFn& input_fn, const TrainLength& length,
                         const TrainHooks& hooks, std::optional<SavedState> newest,
                         std::unique_ptr<RunLock> lock) {
  Rollback rollback;
  TrainLength left = length;
  while (true) {
    TrainResult result = RunOnce(input_fn, left, hooks, std::move(newest), lock, rollback);
    if (result.stopped_because != TrainLoop::kRolledBack) return result;
    left.unfinished_since.reset();  // this run has begun
    rollback.times = result.checkpoint == rollback.prefix ? rollback.times + 1 : 1;
    rollback.prefix = result.checkpoint;
    newest = LoadCheckpoint(rollback.prefix);
  }
}

TrainResult Trainer::RunOnce(const InputFn& input_fn, const TrainLength& length,
                             const TrainHooks& hooks, std::optional<SavedState> newest,
                             std::unique_ptr<RunLock>& lock, Rollback& rollback) {
  TrainPlan plan{.newest = std::move(newest), .batch_size = context_.BatchSize(Mode::kTrain)};
  if (plan.newest) plan.resume = plan.newest->resume;
  if (rollback.times > 0) plan.resume.position = rollback.position;
  cut_ = plan.resume.cut;
  is_restored_ = plan.newest.has_value();
  plan.resume.seed = context_.Seed(plan.resume);
  plan.resume.seeds_by_name = context_.seeds_by_name;
  // Rows that another program's checkpoint lacks are generated with this run's seed.
  if (plan.newest && !plan.newest->resume.seed) plan.newest->resume.seed = plan.resume.seed;
  const std::unique_ptr<BatchStream> stream = OpenInput(input_fn, *plan.resume.seed);
  TrainStep& step = StepFor(stream->spec());
  TakeOwnRows(*stream, step);
  const BuiltModel& model = step.model();
  plan.saves = SavesCheckpoints(context_.options.run_config, hooks, model.spec);
  plan.may_roll_back = plan.saves && rollback.times < context_.options.on_nan.max_skips;
  CheckListeners(hooks, plan.saves);
  LoadVariables(model, plan);
  if (model.scaffold) {
    RunLocalInit(context_.home.backend, *model.graph, *model.scaffold, variables_);
  }
  SettleGoal(length, plan);
  std::optional<InfeedArgs> infeed_args = InfeedFor(plan, length, step, *stream);
  if (!infeed_args) return AlreadyDone(length, *plan.newest, lock != nullptr);
  // Nothing has been written so far, so a job that cannot run leaves no files.
  if (context_.home.dry_run) return DryRun(plan);
  if (!lock) lock = StartRun(plan.newest.has_value());
  StartWorkers(*stream);
  RemoveLeftovers(context_.model_dir);
  Infeed infeed(*std::move(infeed_args));
  TrainSession session(
      {.context = context_, .plan = plan, .variables = variables_, .step = step, .user = hooks});
  TrainResult result = session.Run(infeed);
  LogRows(infeed);
  rollback.position = session.position();
  return result;
}

std::unique_ptr<BatchStream> Trainer::OpenInput(const InputFn& input_fn, uint64_t seed) {
  const int64_t batch_size = context_.BatchSize(Mode::kTrain);
  std::unique_ptr<BatchStream> stream = context_.OpenBatches(input_fn, Mode::kTrain, seed);
  if (context_.home.group != nullptr) CheckEachCanRead(stream->files());
  const auto& strategy = context_.options.run_config.train_distribute;
  if (!strategy) return stream;
  context_.home.log.Info("Using {} with {} replicas: a batch of {} on each, {} in total",
                         strategy->type, strategy->replicas(), batch_size / strategy->replicas(),
                         batch_size);
  return std::make_unique<FullBatches>(std::move(stream), batch_size);
}

void Trainer::TakeOwnRows(BatchStream& stream, const TrainStep& step) const {
  const Collective* const collective = context_.collective.get();
  if (collective == nullptr || context_.BroadcastsIn(Mode::kTrain)) return;
  if (collective->is_chief() && step.reads_whole_batches()) return;
  const int64_t share = context_.BatchSize(Mode::kTrain) / context_.ReplicasIn(Mode::kTrain);
  stream.TakeRows(collective->share().first * share, collective->share().count * share);
}

void Trainer::LogRows(Infeed& infeed) const {
  if (context_.home.group == nullptr) return;
  const Infeed::Rows rows = infeed.rows();
  context_.home.log.Info("Read {} of {} rows of the input, those of this process.", rows.made,
                         rows.all);
}

void Trainer::StartWorkers(const BatchStream& stream) {
  hosts::Group* const group = context_.home.group;
  if (group == nullptr) return;
  variables_.OnSharedCopyToHost([group](const std::string& name) {
    SendControl(*group, CopyToHostMessage{.variable = name});
  });
  SendControl(*group, StartMessage{.seed = *context_.seed,
                                   .seeds_by_name = context_.seeds_by_name,
                                   .position = starts_at_,
                                   .variables = WithSeen(variables_)});
  group->CheckSame("input", InputFilesText(stream.files()));
  DealRows(*group, variables_);
  DealLines(*group, variables_);
}

TrainResult Trainer::DryRun(const TrainPlan& plan) {
  const int64_t step = GlobalStep();
  context_.home.log.Info(
      "Dry run: train would run from step {} to {} in {}; nothing was written", step,
      plan.goal ? fmt::format("{} ({})", *plan.goal, plan.goal_reason) : "the end of its input",
      context_.model_dir);
  return {.global_step = step,
          .stopped_because = "dry run",
          .checkpoint = plan.newest ? plan.newest->prefix : ""};
}

SavedState Trainer::Saved() const {
  const std::optional<std::string> newest = LatestCheckpoint(context_.model_dir);
  Check(newest.has_value(), "{}: nothing was saved", context_.model_dir);
  SavedState saved = InMemory(*newest);
  saved.on_disk = std::make_shared<const BundleReader>(*newest);
  saved.left = LeftEntries(*saved.on_disk);
  return saved;
}

SavedState Trainer::InMemory(const std::string& prefix) const {
  SavedState saved{.prefix = prefix, .tensors = variables_.tensors()};
  saved.tables = variables_.tables().all();
  saved.global_step = *variables_.Get(std::string(nn::kGlobalStepName)).data<int64_t>();
  saved.resume.seed = context_.seed;
  saved.resume.seeds_by_name = context_.seeds_by_name;
  saved.resume.cut = cut_;
  return saved;
}

std::unique_ptr<RunLock> Trainer::StartRun(bool restored) const {
  MakeRunFolders(context_.model_dir);
  std::unique_ptr<RunLock> lock = LockRun(context_);
  if (restored || !LatestCheckpoint(context_.model_dir)) return lock;
  throw Error(Code::kUsage,
              fmt::format("{}: another process has trained in this model_dir meanwhile",
                          context_.model_dir),
              "run the same command again to resume from there")
      .Key("run_config.model_dir");
}

TrainStep& Trainer::StepFor(const StreamSpec& stream) {
  if (step_ != nullptr && SameSpec(step_->stream(), stream)) return *step_;
  step_.reset();
  const int64_t rows = context_.BatchSize(Mode::kTrain);
  step_ = std::make_unique<TrainStep>(
      TrainStepArgs{.context = context_,
                    .variables = variables_,
                    .stream = stream,
                    .model = BuildTrainModel(context_, stream, rows, /*with_scaffold=*/true)});
  return *step_;
}

// Generates the rows that a checkpoint lacks with the seed with which the run began.
void Trainer::KeepRows(const Graph& graph, const TrainPlan& plan) {
  const EmbeddingsOptions& options = context_.options.embeddings;
  if (options.evict_after_steps) CheckSeed(plan);
  const std::optional<RowKeeping> keeping = context_.RowsKept();
  if (context_.collective != nullptr && !keeping) {
    return CheckFitWhole(graph, options.whole_table_bytes,
                         "each host of a group's devices holds whole tables",
                         "--device cpu: each process keeps only its own materialized rows");
  }
  if (context_.options.run_config.checkpoint_format == "checkpoint") {
    return CheckFitWhole(graph, options.whole_table_bytes,
                         "an object-based checkpoint holds whole tables",
                         "run_config.checkpoint_format=saver");
  }
  if (!keeping) return;
  if (variables_.tables().keeping() == nullptr) variables_.tables().KeepRows(*keeping);
  const bool has_rows =
      plan.newest && std::any_of(plan.newest->left.begin(), plan.newest->left.end(),
                                 [](const std::string& name) { return name.ends_with("-keys"); });
  if (has_rows) CheckSeed(plan);
}

void Trainer::CountSeenRows(const Graph& graph, uint64_t seed, const SavedState& from) {
  const EmbeddingsOptions& options = context_.options.embeddings;
  if (!options.counts_rows()) return;
  CheckWatchesRows("does not count their rows", options.admit_after > 1
                                                    ? "tpuest.embeddings.admit_after"
                                                    : "tpuest.embeddings.evict_after_steps");
  const RunConfig& config = context_.options.run_config;
  CountRows(graph,
            {.admit_after = options.admit_after,
             .evict_after_steps = options.evict_after_steps,
             .decides_every = config.save_checkpoints_steps.value_or(1)},
            seed, from, variables_);
}

void Trainer::NoteChangedRows(const Graph& graph, const SavedState& from) {
  if (context_.options.embeddings.incremental == 1) return;
  CheckWatchesRows("does not track which of their rows change", "tpuest.embeddings.incremental");
  NoteChanges(graph, from, variables_);
}

// Refuses a key that requires tracking which rows updates write.
void Trainer::CheckWatchesRows(std::string_view what, const std::string& key) const {
  if (context_.home.backends().device.keeps_rows()) return;
  throw Error(Code::kUsage, fmt::format("a device holds whole tables, and {}", what),
              fmt::format("--device cpu, or remove {}", key))
      .Key(key);
}

void Trainer::LoadVariables(const BuiltModel& model, const TrainPlan& plan) {
  const Graph& graph = *model.graph;
  Log& log = context_.home.log;
  if (plan.saves) log.Info("Create CheckpointSaverHook.");
  log.Info("Graph was finalized.");
  Backend& backend = context_.home.backend;
  KeepRows(graph, plan);
  if (plan.newest) {
    log.Info("Restoring parameters from {}", plan.newest->prefix);
    RestoreVariables(*plan.newest, graph, variables_, &log);
    CountSeenRows(graph, *plan.resume.seed, *plan.newest);
    NoteChangedRows(graph, *plan.newest);
    InitializeVariables(backend, graph, Which::kLocal, *plan.resume.seed, variables_);
    LogLocalInit(context_.home);
    return;
  }
  InitializeVariables(backend, graph, Which::kAll, *plan.resume.seed, variables_);
  CountSeenRows(graph, *plan.resume.seed, {});
  NoteChangedRows(graph, {});
  RunInitFn(graph, model.scaffold, log, variables_);
  if (context_.options.warm_start_from) {
    WarmStart(*context_.options.warm_start_from, graph,
              {.backend = backend,
               .seed = *plan.resume.seed,
               .log = log,
               .dealt_by_mod = context_.options.embeddings.dealt_by_mod},
              variables_);
  }
  LogLocalInit(context_.home);
}

int64_t Trainer::GlobalStep() {
  return *variables_.Get(std::string(nn::kGlobalStepName)).data<int64_t>();
}

void Trainer::SettleGoal(const TrainLength& length, TrainPlan& plan) {
  const std::optional<Goal> unfinished = std::exchange(plan.resume.goal, std::nullopt);
  const TrainGoal goal = GoalOf(length, GlobalStep(), unfinished);
  plan.goal = goal.step;
  plan.goal_reason = goal.reason;
  goal_ = plan.goal;
  if (!length.steps) return;
  plan.resume.goal = Goal{.step = *plan.goal, .steps = *length.steps};
  if (goal.goes_on) {
    context_.home.log.Info("Continuing an unfinished run of {} steps, to step {}.", *length.steps,
                           *plan.goal);
  }
}

std::optional<InfeedArgs> Trainer::InfeedFor(const TrainPlan& plan, const TrainLength& length,
                                             TrainStep& step, BatchStream& stream) {
  starts_at_ = plan.resume.position;
  if (starts_at_ != StreamPosition()) {
    if (const std::string_view way = SeekWayOf(stream); !way.empty()) {
      context_.home.log.Info("The input continues after {} examples of epoch {}: {}.",
                             starts_at_.records, starts_at_.epoch, way);
    }
    stream.Seek(starts_at_);
  }
  std::optional<Batch> first = stream.Next();
  // A run that ended with its input is complete, so another run reads the input again. A run that
  // was interrupted after its last batch has not ended yet.
  const bool may_begin_anew = plan.resume.position != StreamPosition() && !plan.resume.cut;
  if (!first && !context_.options.use_tpu && may_begin_anew) {
    if (!length.steps && HasSaved(length, *plan.newest)) return std::nullopt;
    starts_at_ = {};
    stream.Seek({});
    first = stream.Next();
  }
  InfeedArgs args{.stream = stream, .clock = context_.home.clock, .stop = context_.home.stop};
  // A step that cannot be compiled fails before the run begins.
  const bool runs = first && (!context_.options.use_tpu || RowsOf(*first) == plan.batch_size);
  if (runs) args.ahead = step.ProgramFor(step.ShapesOf(*first))->steps_per_call();
  args.first = std::move(first);
  // Skipped batches do not count towards the goal.
  const bool leaves_out = context_.options.on_nan.policy != "stop";
  if (plan.goal && !leaves_out) args.limit = *plan.goal - GlobalStep();
  args.step = &step;
  return args;
}

}  // namespace tpuest
