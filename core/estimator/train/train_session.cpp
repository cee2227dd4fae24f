#include "core/estimator/train/train_session.h"

#include <numeric>

#include "core/base/process/files.h"
#include "core/estimator/checkpoint/rows/row_seen.h"
#include "core/estimator/group/control_messages.h"
#include "core/estimator/group/shard_writers.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/train/group_waits.h"
#include "core/estimator/train/input_waits.h"
#include "core/graph/write/graphdef.h"
#include "core/nn/global_step.h"

namespace tpuest {

namespace {

// The first hook of this class, or nullptr.
template <class Hook>
Hook* Find(const std::vector<SessionRunHook*>& hooks) {
  for (SessionRunHook* const hook : hooks) {
    if (auto* const found = dynamic_cast<Hook*>(hook)) return found;
  }
  return nullptr;
}

// The hook of this class from the call or from the spec, or nullptr.
template <class Hook>
Hook* FindGiven(std::vector<SessionRunHook*> hooks, const TPUEstimatorSpec& spec) {
  for (const auto& hook : spec.training_hooks) hooks.push_back(hook.get());
  for (const auto& hook : spec.training_chief_hooks) hooks.push_back(hook.get());
  return Find<Hook>(hooks);
}

// Remembers the last step for hooks that are called between loops.
class LastStepHook final : public SessionRunHook {
 public:
  void Begin(HookHome& home) override { home_ = &home; }
  void AfterRun(RunContext& /*context*/, const RunValues& values) override {
    if (values.steps.empty()) return;
    const StepRecord& last = values.steps.back();
    home_->last_step = {.step = last.step, .loss = last.loss, .learning_rate = last.learning_rate};
  }
  [[nodiscard]] int64_t NextLook(int64_t /*global_step*/) const override { return kNeverLooks; }

 private:
  HookHome* home_ = nullptr;
};

bool EndsLoopsAtPeriods(const EstimatorOptions& options) {
  return options.use_tpu &&
         options.run_config.tpu_config.loop->unit == IterationsPerLoopCounter::Unit::kAuto;
}

GraphSummaries SummariesOf(const TPUEstimatorSpec& spec) {
  GraphSummaries summaries{
      .scalars = spec.summaries, .activations = spec.activations, .histograms = spec.histograms};
  summaries.scalars.emplace("loss", spec.loss);
  return summaries;
}

// In a group the processes write checkpoints together.
WriteElsewhereFn ShardsElsewhere(const EstimatorContext& context, const VariableStore& variables) {
  if (context.home.group == nullptr) return nullptr;
  return OwnersWrite(*context.home.group, variables, context.model_dir, context.home.fsync);
}

}  // namespace

void CutMetrics(MetricsLog& metrics, const EstimatorContext& context, int64_t step) {
  const int64_t damaged = metrics.CutAfter(step);
  if (damaged == 0) return;
  context.home.log.Warning("{}: ignoring {} damaged lines; event files have their values",
                           MetricsPath(context.model_dir), damaged);
}

bool SavesCheckpoints(const RunConfig& config, const TrainHooks& hooks,
                      const TPUEstimatorSpec& spec) {
  return FindGiven<CheckpointSaverHook>(hooks.hooks, spec) != nullptr ||
         config.save_checkpoints_steps.value_or(0) > 0 ||
         config.save_checkpoints_secs.value_or(0) > 0;
}

TrainSession::TrainSession(const TrainSessionArgs& args)
    : context_(args.context),
      plan_(args.plan),
      variables_(args.variables),
      step_(args.step),
      model_(step_.model()),
      config_(context_.options.run_config),
      clock_(context_.home.clock),
      start_(*variables_.Get(std::string(nn::kGlobalStepName)).data<int64_t>()),
      resume_(plan_.resume),
      saver_({.model_dir = context_.model_dir,
              .config = config_,
              .graph = *model_.graph,
              .variables = variables_,
              .train_op = model_.spec.train_op,
              .loss = model_.spec.loss,
              .summaries = SummariesOf(model_.spec),
              .log = context_.home.log,
              .clock = clock_,
              .fsync = context_.home.fsync,
              .whole_table_bytes = context_.options.embeddings.whole_table_bytes,
              .shard_bytes = context_.options.embeddings.shard_bytes,
              .incremental = context_.options.embeddings.incremental,
              .elsewhere = ShardsElsewhere(context_, variables_)},
             plan_.newest ? plan_.newest->prefix : "", plan_.resume.cut),
      metrics_(context_.model_dir),
      events_(context_.model_dir, clock_.WallSeconds()),
      hook_graph_(context_.home.backend, context_.home.registry, variables_, *model_.graph),
      hook_home_({.log = context_.home.log,
                  .clock = clock_,
                  .stop = context_.home.stop,
                  .model_dir = context_.model_dir,
                  .graph = hook_graph_,
                  .events = &events_,
                  .saver = &saver_,
                  .resume = &resume_,
                  .loops_end_at_periods = EndsLoopsAtPeriods(context_.options)}),
      host_call_(context_.home.backend, context_.home.registry, context_.home.log,
                 context_.threads) {
  CutMetrics(metrics_, context_, start_);
  if (config_.checkpoint_save_graph_def) WriteGraph();
  MakeHooks(args.user);
}

void TrainSession::Comparison::BeforeSave(int64_t /*global_step*/) {
  CompareVariables(*session_.context_.home.group, WithSeen(session_.variables_));
}

void TrainSession::WriteGraph() {
  const GraphDefForms graph = ToGraphDefForms(*model_.graph);
  WriteFileAtomically(GraphPath(context_.model_dir), graph.text, context_.home.fsync);
  events_.Graph(clock_.WallSeconds(), start_, graph.bytes);
}

// TensorFlow's order: the saver, the counter and the summaries, then the user's hooks, then the
// rest. Hooks whose state a checkpoint stores go first, and so does metrics.jsonl, which TensorFlow
// lacks. A user's saver or NaN check replaces the run's own. The spec's hooks are last; its chief
// hooks follow the saver.
void TrainSession::MakeHooks(const TrainHooks& user) {
  const auto add = [this](std::unique_ptr<SessionRunHook> hook) {
    hooks_.push_back(hook.get());
    own_hooks_.push_back(std::move(hook));
  };
  add(std::make_unique<LastStepHook>());
  for (SessionRunHook* const hook : user.hooks) {
    if (hook->IsBeforeSaver()) hooks_.push_back(hook);
  }
  if (config_.log_step_count_steps) {
    add(std::make_unique<MetricsLogHook>(*config_.log_step_count_steps, metrics_, clock_));
  }
  const TPUEstimatorSpec& spec = model_.spec;
  auto* saver_hook = FindGiven<CheckpointSaverHook>(user.hooks, spec);
  if (plan_.saves && saver_hook == nullptr) {
    auto own = std::make_unique<CheckpointSaverHook>(config_.save_checkpoints_secs,
                                                     config_.save_checkpoints_steps);
    saver_hook = own.get();
    add(std::move(own));
  }
  if (saver_hook != nullptr) {
    std::vector<CheckpointSaverListener*> listeners = user.saving_listeners;
    if (context_.home.group != nullptr) listeners.insert(listeners.begin(), &comparison_);
    saver_hook->SetListeners(std::move(listeners));
  }
  for (const auto& hook : spec.training_chief_hooks) hooks_.push_back(hook.get());
  if (config_.log_step_count_steps) {
    const bool names_begins = context_.home.tensorflow_words && !context_.options.use_tpu;
    add(std::make_unique<ExamplesPerSecondHook>(*config_.log_step_count_steps, names_begins,
                                                context_.home.log, clock_, events_));
  }
  if (config_.log_step_count_steps && !context_.home.tensorflow_words) {
    const int64_t every = *config_.log_step_count_steps;
    if (context_.home.group != nullptr) {
      add(std::make_unique<GroupWaitsHook>(every, *context_.home.group, context_.home.log, clock_));
    } else {
      add(std::make_unique<InputWaitsHook>(every, context_.home.log, clock_));
    }
  }
  if (config_.save_summary_steps.value_or(0) > 0) {
    add(std::make_unique<SummarySaverHook>(config_.save_summary_steps, std::nullopt));
  }
  listeners_ = user.saving_listeners;
  std::copy_if(user.hooks.begin(), user.hooks.end(), std::back_inserter(hooks_),
               [](const SessionRunHook* hook) { return !hook->IsBeforeSaver(); });
  if (plan_.goal) {
    add(std::make_unique<StopAtStepHook>(std::nullopt, plan_.goal, plan_.goal_reason));
  }
  if (FindGiven<NanTensorHook>(user.hooks, spec) == nullptr) {
    add(std::make_unique<NanTensorHook>());
  }
  for (const auto& hook : spec.training_hooks) hooks_.push_back(hook.get());
}

// The greatest common divisor of the hooks' intervals; 0 if none has an interval.
int64_t TrainSession::Period() const {
  int64_t period = 0;
  for (const SessionRunHook* const hook : hooks_) period = std::gcd(period, hook->Period());
  return period;
}

void TrainSession::Begin() {
  std::vector<std::string> tags;
  for (const auto& [tag, value] : model_.spec.summaries) tags.push_back(tag);
  const SessionInfo session{.model_dir = context_.model_dir,
                            .global_step = start_,
                            .restored = plan_.newest.has_value(),
                            .within_loop = context_.options.use_tpu && plan_.resume.cut &&
                                           plan_.resume.cut->loop_begin != start_,
                            .batch_size = context_.InputBatchSize(Mode::kTrain),
                            .has_learning_rate = model_.spec.learning_rate.valid(),
                            .summary_tags = tags,
                            .host_call_tags = model_.spec.host_call ? model_.spec.host_call->tags
                                                                    : std::set<std::string>()};
  for (SessionRunHook* const hook : hooks_) hook->Begin(hook_home_);
  for (SessionRunHook* const hook : hooks_) hook->AfterCreateSession(session);
  resume_.cut.reset();
  const HParams& hparams = context_.home.hparams;
  const double now = clock_.WallSeconds();
  if (!hparams.empty()) events_.Summary(now, 0, {HParamsStart(hparams, now)});
  // For TensorBoard, this event invalidates events of this step and later ones in older files.
  events_.SessionLog(clock_.WallSeconds(), start_ + 1, {.status = SessionLogData::Status::kStart});
  events_.Flush();
}

void TrainSession::End(const TrainLoop& loop, bool stopped_by_signal) {
  const int64_t global_step = loop.global_step();
  if (stopped_by_signal && !saver_.HasSaved(global_step, resume_)) {
    resume_.cut = CutRun{.saved = saver_.last_regular_step().value_or(start_),
                         .loop_begin = loop.next_loop_begin()};
  }
  // The last checkpoint completes the run, so everything else is written before it.
  if (!context_.home.hparams.empty() && !stopped_by_signal) {
    const double now = clock_.WallSeconds();
    events_.Summary(now, 0, {HParamsEnd(now)});
  }
  events_.Flush();
  for (SessionRunHook* const hook : hooks_) hook->End(global_step);
  if (stopped_by_signal && !saver_.HasSaved(global_step, resume_)) {
    saver_.Save(global_step, resume_);
  }
}

TrainResult TrainSession::Run(Infeed& infeed) {
  Begin();
  TrainLoop loop({.context = context_,
                  .variables = variables_,
                  .step = step_,
                  .infeed = infeed,
                  .saver = saver_,
                  .resume = resume_,
                  .saves = plan_.saves,
                  .may_roll_back = plan_.may_roll_back,
                  .hooks = hooks_,
                  .host_call = host_call_,
                  .events = events_,
                  .listeners = listeners_,
                  .batch_size = context_.InputBatchSize(Mode::kTrain),
                  .goal = plan_.goal,
                  .period = Period(),
                  .cut = plan_.resume.cut});
  TrainResult result{.stopped_because = loop.Run()};
  if (result.stopped_because == TrainLoop::kRolledBack) {
    events_.Flush();
    // A checkpoint of a stop request would not exist in a run that was not stopped.
    result.checkpoint = saver_.last_regular_prefix();
    return result;
  }
  const StopSignal& stop = context_.home.stop;
  const bool by_signal = stop.requested() && result.stopped_because == ReasonOf(stop);
  Log& log = context_.home.log;
  if (by_signal) {
    result.exit_code = plan_.saves ? ExitCodeOf(stop) : UnsavedExitCodeOf(stop);
  } else if (loop.steps_made() == 0 && loop.input_ended() && !plan_.resume.cut) {
    log.Warning("Training with estimator made no steps. Perhaps input is empty or misspecified.");
  }
  End(loop, by_signal);
  log.Info("Loss for final step: {}.", loop.loss() ? PythonFloat(*loop.loss()) : "None");
  result.global_step = loop.global_step();
  result.loss = loop.loss();
  result.checkpoint = saver_.last_prefix();
  return result;
}

}  // namespace tpuest
