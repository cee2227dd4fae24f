#include "core/estimator/estimator.h"

#include <unistd.h>

#include <cstdio>

#include "core/base/process/files.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/eval_listener.h"
#include "core/estimator/evaluate/evaluator.h"
#include "core/estimator/evaluate/predictor.h"
#include "core/estimator/export/export_verifier.h"
#include "core/estimator/export/saved_model_writer.h"
#include "core/estimator/follower.h"
#include "core/estimator/group/group_rows.h"
#include "core/estimator/in_memory_evaluator.h"
#include "core/estimator/model_dir/evaluations.h"
#include "core/estimator/options/python_config.h"
#include "core/estimator/step/batch_axis.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/first_not_finite.h"
#include "core/estimator/step/input_partition.h"
#include "core/estimator/train/trainer.h"
#include "core/estimator/train_and_evaluate.h"
#include "core/hosts/group_collective.h"
#include "core/io/checkpoint_state.h"

namespace tpuest {
namespace {

std::string TemporaryModelDir(bool is_made) {
  if (!is_made) return JoinPath(P_tmpdir, "tpuest.XXXXXX");
  try {
    return MakeTemporaryFolder("tpuest");
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), "name a model_dir").Key("run_config.model_dir");
  }
}

// Logs the devices on which modes run, if the options name any.
void LogPlaces(const EstimatorContext& context) {
  const EstimatorOptions& options = context.options;
  Log& log = context.home.log;
  if (options.eval_on_tpu) {
    log.Info("_TPUContext: eval_on_tpu {}", *options.eval_on_tpu ? "True" : "False");
    if (!options.use_tpu) log.Warning("eval_on_tpu ignored because use_tpu is False.");
  }
  const RunConfig& config = options.run_config;
  if (config.train_distribute || config.eval_distribute) {
    log.Info("Initializing RunConfig with distribution strategies.");
  }
}

EstimatorContext MakeContext(ModelFn model_fn, EstimatorOptions options,
                             const EstimatorHome& home) {
  if (!model_fn) throw Error(Code::kUsage, "model_fn must be provided to Estimator.");
  options.run_config.Resolve();
  ThrowFaults(Validate(options));
  EstimatorContext context{
      .model_fn = std::move(model_fn), .options = std::move(options), .home = home};
  context.model_fn = WithBatchAxis(
      WithInputPartition(std::move(context.model_fn), context.options.run_config.tpu_config),
      context.options.batch_axis);
  const RunConfig& config = context.options.run_config;
  if (config.model_dir) {
    context.model_dir = *config.model_dir;
  } else {
    context.model_dir = TemporaryModelDir(!home.dry_run);
    context.model_dir_is_temporary = !home.dry_run;
    home.log.Warning("Using temporary folder as model directory: {}", context.model_dir);
  }
  if (home.tensorflow_words) {
    home.log.Info("Using config: {}", PythonConfig(context.options, context.model_dir));
  }
  LogPlaces(context);
  context.threads = ThreadsOf(config);
  if (home.group != nullptr) {
    context.collective =
        std::make_shared<hosts::GroupCollective>(*home.group, context.ReplicasIn(Mode::kTrain));
    const bool by_mod = context.options.embeddings.dealt_by_mod;
    context.row_owners =
        std::make_shared<GroupRows>(*home.group, by_mod ? RowDeal::kMod : RowDeal::kDiv);
  }
  return context;
}

// As in TensorFlow, FinalExporters export nothing in a run without a last step.
void WarnOfFinalExporters(const std::vector<EvalTask>& tasks, std::string_view why, Log& log) {
  for (const EvalTask& task : tasks) {
    for (const ExporterTask& exporter : task.exporters) {
      if (!std::holds_alternative<FinalExporterOptions>(exporter.options)) continue;
      log.Warning("FinalExporter '{}' exports nothing: {}", CommonOf(exporter.options).name, why);
    }
  }
}

// Returns the newest checkpoint for an evaluator. Reports a damaged state file only once; `told`
// keeps that between calls.
std::optional<std::string> NewestToFollow(const EstimatorContext& context, std::string& told) {
  RegularCheckpoint newest = NewestRegularCheckpoint(context.model_dir);
  if (newest.prefix && !newest.fault.empty() && newest.fault != told) {
    context.home.log.Warning("{}; using {}, the newest checkpoint there", newest.fault,
                             *newest.prefix);
    told = newest.fault;
  }
  return std::move(newest.prefix);
}

// Completes the evaluations within a training, or marks the run as one to resume.
void SettleEvaluators(const TrainHooks& hooks, TrainResult& result) {
  for (SessionRunHook* const hook : hooks.hooks) {
    if (auto* const evaluator = dynamic_cast<InMemoryEvaluatorHook*>(hook)) {
      evaluator->Settle(result);
    }
  }
}

std::string PythonText(const std::optional<int64_t>& value) {
  return value ? std::to_string(*value) : "None";
}

}  // namespace

class Estimator::Impl {
 public:
  Impl(ModelFn model_fn, EstimatorOptions options, const EstimatorHome& home)
      : context(MakeContext(std::move(model_fn), std::move(options), home)),
        trainer(context),
        evaluator(context),
        predictor(context),
        saved_models(context) {}
  // Removes the temporary folder if it is empty.
  ~Impl() {
    if (context.model_dir_is_temporary) ::rmdir(context.model_dir.c_str());
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  EstimatorContext context;
  Trainer trainer;
  Evaluator evaluator;
  Predictor predictor;
  SavedModelWriter saved_models;
};

Estimator::Estimator(ModelFn model_fn, EstimatorOptions options, const EstimatorHome& home)
    : impl_(std::make_unique<Impl>(std::move(model_fn), std::move(options), home)) {}

Estimator::~Estimator() = default;

void Estimator::StartByNames() { impl_->context.starts_by_name = true; }

TrainResult Estimator::Train(const InputFn& input_fn, const TrainLength& length,
                             const TrainHooks& hooks) {
  TrainResult result = impl_->trainer.Train(input_fn, length, hooks);
  SettleEvaluators(hooks, result);
  return result;
}

TrainAndEvaluateResult Estimator::TrainAndEvaluate(const InputFn& input_fn,
                                                   const TrainLength& length,
                                                   const TrainHooks& hooks,
                                                   std::vector<EvalTask> tasks) {
  EstimatorContext& context = impl_->context;
  const RunConfig& config = context.options.run_config;
  context.home.log.Info("Running training and evaluation locally (non-distributed).");
  context.home.log.Info(
      "Start train and evaluate loop. The evaluate will happen after every checkpoint. Checkpoint "
      "frequency is determined based on RunConfig arguments: save_checkpoints_steps {} or "
      "save_checkpoints_secs {}.",
      PythonText(config.save_checkpoints_steps), PythonText(config.save_checkpoints_secs));
  EvalRunner runner({.context = context,
                     .evaluator = impl_->evaluator,
                     .saved_models = impl_->saved_models,
                     .tasks = std::move(tasks),
                     .goal = [this] { return impl_->trainer.goal(); }});
  if (!length.max_steps && !length.steps) {
    WarnOfFinalExporters(runner.tasks(), "train_spec has no max_steps", context.home.log);
  }
  EvaluationListener listener(
      context, runner, [this] { return impl_->trainer.Saved(); },
      [this] { return impl_->trainer.is_restored(); });
  TrainHooks watched = hooks;
  watched.saving_listeners.push_back(&listener);
  TrainAndEvaluateResult result{.train = impl_->trainer.Train(input_fn, length, watched)};
  if (context.home.dry_run) {
    for (const EvalTask& task : runner.tasks()) {
      (void)impl_->evaluator.Evaluate(task.input_fn, task.args);
      for (const ExporterTask& exported : task.exporters)
        impl_->saved_models.TryBuild(exported.args);
    }
    return result;
  }
  if (!listener.has_begun())
    listener.GoOnAfterEnd(result.train.global_step, result.train.checkpoint);
  const StopSignal& stop = context.home.stop;
  if (result.train.exit_code == 0 && stop.requested() &&
      listener.OwesEvaluation(result.train.global_step)) {
    result.train.exit_code = ExitCodeOf(stop);
    result.train.stopped_because = ReasonOf(stop);
  }
  SettleEvaluators(hooks, result.train);
  result.evaluations = runner.results();
  result.exports = runner.exports();
  return result;
}

FollowResult Estimator::Follow(const FollowArgs& args, std::vector<EvalTask> tasks) {
  EstimatorContext& context = impl_->context;
  EvalRunner runner({.context = context,
                     .evaluator = impl_->evaluator,
                     .saved_models = impl_->saved_models,
                     .tasks = std::move(tasks),
                     .goal = [&args] { return args.max_steps; }});
  if (!args.max_steps) {
    WarnOfFinalExporters(runner.tasks(),
                         "an evaluator recognizes the end of the run only by max_steps",
                         context.home.log);
  }
  Follower follower(
      {.tasks = runner.tasks(),
       .follow = args,
       .model_dir = context.model_dir,
       .clock = context.home.clock,
       .log = context.home.log,
       .stop = context.home.stop,
       .newest = [&, told = std::string()]() mutable { return NewestToFollow(context, told); },
       .evaluate =
           [&](size_t task, const std::string& checkpoint) {
             return runner.Run(task, checkpoint).global_step;
           },
       .damage = DamageOf});
  FollowResult result{.stopped_because = follower.Run()};
  result.evaluations = runner.results();
  result.exports = runner.exports();
  return result;
}

TrainResult Estimator::FollowChief(const ChiefsInputs& inputs) {
  return impl_->trainer.FollowChief(inputs.train, [&](const ControlMessage& message) {
    if (const auto* const predict = std::get_if<PredictMessage>(&message)) {
      impl_->predictor.FollowChief(inputs.predict, *predict);
      return true;
    }
    const auto* const evaluate = std::get_if<EvaluateMessage>(&message);
    if (evaluate == nullptr) return false;
    const auto found = inputs.evaluations.find(evaluate->label);
    Check(found != inputs.evaluations.end(), "unknown evaluation '{}'", evaluate->label);
    EvaluateMessage whole = *evaluate;
    std::vector<std::shared_ptr<RowTable>> tables;
    for (const std::string& name : evaluate->trained) {
      if (std::shared_ptr<RowTable> table = impl_->trainer.Table(name)) {
        tables.push_back(std::move(table));
      } else {
        whole.variables.emplace(name, impl_->trainer.Variable(name));
      }
    }
    impl_->evaluator.FollowChief(found->second, whole, std::move(tables));
    return true;
  });
}

std::unique_ptr<SessionRunHook> Estimator::InMemoryEvaluator(EvalTask task, int64_t every_n_iter) {
  return std::make_unique<InMemoryEvaluatorHook>(impl_->context, impl_->trainer, impl_->evaluator,
                                                 std::move(task), every_n_iter);
}

EvaluateResult Estimator::Evaluate(const InputFn& input_fn, const EvaluateArgs& args) {
  return impl_->evaluator.Evaluate(input_fn, args);
}

PredictResult Estimator::Predict(const InputFn& input_fn, const PredictArgs& args,
                                 const RowCallback& row) {
  return impl_->predictor.Predict(input_fn, args, row);
}

ExportResult Estimator::ExportSavedModel(const ExportArgs& args) {
  return impl_->saved_models.Write(args);
}

VerifyResult Estimator::VerifySavedModel(const std::string& folder, const VerifyArgs& args,
                                         const std::string& checkpoint) {
  EstimatorContext& context = impl_->context;
  const SavedState saved = LoadCheckpoint(checkpoint);
  return VerifyExport(folder, args, saved, context.Seed(saved.resume), context);
}

std::optional<NotFiniteTensor> Estimator::FindNotFinite(const StreamSpec& stream,
                                                        const Batch& batch) const {
  return FirstNotFinite(impl_->context, stream, batch);
}

const std::string& Estimator::model_dir() const { return impl_->context.model_dir; }
const EstimatorOptions& Estimator::options() const { return impl_->context.options; }
int Estimator::replicas() const { return impl_->context.ReplicasIn(Mode::kTrain); }

std::optional<std::string> Estimator::LatestCheckpoint() const {
  return tpuest::LatestCheckpoint(impl_->context.model_dir);
}

}  // namespace tpuest
