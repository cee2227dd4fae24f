#include "cli/job/job.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "cli/host/signals.h"
#include "cli/job/epochs.h"
#include "cli/job/eval_tasks.h"
#include "cli/job/fold.h"
#include "cli/job/keras_model.h"
#include "cli/job/recipes.h"
#include "cli/job/row_counts.h"
#include "cli/job/step_counts.h"
#include "cli/job/tensorflow_names.h"
#include "cli/shell/invocation.h"
#include "core/base/faults.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/step/estimator_context.h"
#include "core/estimator/step/model/label_check.h"
#include "core/nn/formula/formula.h"
#include "core/ops/all_ops.h"
#include "core/sharding/batch_size.h"
#include "data/csv_stages.h"
#include "data/pipeline/input_fn.h"
#include "models/model_files.h"

namespace tpuest::cli {
namespace {

// All learning rates of a job, looked at.
EpochFinder RatesOf(const Job& job) {
  // Only looked at.
  auto& sections = const_cast<Job&>(job);
  EpochFinder finder;
  finder.Look(config::ValueOf(sections.optimizer));
  finder.Look(config::ValueOf(sections.feature_columns));
  finder.Look(config::ValueOf(sections.embedding_config_spec));
  finder.Look(config::ValueOf(sections.model));
  return finder;
}

// InputPipelineConfig's number of a per_host_input_for_training, as TensorFlow prints it.
int NumberOf(const InputPipelineConfig& config) {
  constexpr std::string_view kNames[] = {"PER_SHARD_V1", "PER_HOST_V1", "PER_HOST_V2", "BROADCAST",
                                         "SLICED"};
  if (const auto* const per_host = std::get_if<bool>(&config)) return *per_host ? 2 : 1;
  const auto* const found =
      std::find(std::begin(kNames), std::end(kNames), std::get<std::string>(config));
  return 1 + static_cast<int>(found - std::begin(kNames));
}

class Validator {
 public:
  explicit Validator(const Job& job) : job_(job) {}

  std::vector<Fault> Run() {
    if (job_.version != 1) {
      faults_.Say("version", fmt::format("version {} of the job file is not known", job_.version),
                  "version: 1");
    }
    faults_.AddAll(Validate(job_.estimator));
    CheckColumns();
    if (job_.optimizer && models::NamesOptimizers(job_.model)) {
      faults_.Say("optimizer", "the model names its optimizers itself, the job has another",
                  "leave out `optimizer`, or move it into `model`");
    }
    CheckAverages();
    if (job_.train_spec) CheckTrain();
    if (job_.eval_spec) CheckEvaluate();
    for (const auto& initial : job_.scaffold_fn.local_init) {
      faults_.Catch([&] { nn::CheckFormula(initial.second); });
    }
    faults_.AddAll(CheckStepCounts(job_));
    faults_.AddAll(ValidateHooks(job_.predict.hooks, "predict.hooks"));
    CheckKeepBest();
    faults_.AddAll(Validate(job_.export_options));
    const double most = job_.tpuest.data_errors.max_fraction;
    if (!(most >= 0 && most <= 1)) {
      faults_.Say("tpuest.data_errors.max_fraction",
                  fmt::format("max_fraction is {}; expected 0 to 1", NumberText(most)), "");
    }
    if (job_.tpuest.staging_bytes < 1) {
      faults_.Say(
          "tpuest.staging_bytes",
          fmt::format("staging_bytes is {}; expected at least 1", job_.tpuest.staging_bytes),
          "67108864 is 64 MiB; a replica takes at least one batch at once");
    }
    CheckDevice();
    faults_.AddAll(CheckRowCounts(job_));
    CheckPreemption();
    CheckGroupDeadlines();
    if (job_.tpuest.on_nan.max_skips < 0) {
      faults_.Say("tpuest.on_nan.max_skips",
                  fmt::format("max_skips is {}; expected at least 0", job_.tpuest.on_nan.max_skips),
                  "0 ends the run at the first such step, as policy: stop does");
    }
    const double evaluator_secs = job_.tpuest.deadlines.evaluator_secs;
    if (!(evaluator_secs > 0)) {
      faults_.Say(
          "tpuest.deadlines.evaluator_secs",
          fmt::format("evaluator_secs is {}; expected more than 0", NumberText(evaluator_secs)),
          "600 is ten minutes");
    }
    if (job_.predict.input_fn) CheckInput("predict.input_fn", *job_.predict.input_fn);
    for (const auto& [name, options] : job_.input_fns) CheckInputFn(name, options);
    CheckRates();
    return faults_.Take();
  }

 private:
  void CheckDevice() {
    const std::string& name = job_.tpuest.device;
    if (name == "auto" || IsDeviceName(name)) return;
    faults_.Say("tpuest.device", fmt::format("there is no device '{}'", name),
                fmt::format("auto, {}", kDeviceNames));
  }

  void CheckPreemption() {
    const PreemptionOptions& preemption = job_.tpuest.preemption;
    for (const std::string& name : preemption.signals) {
      if (SignalNamed(name)) continue;
      faults_.Say("tpuest.preemption.signals",
                  fmt::format("there is no signal '{}' that a run can leave at", name),
                  "one of " + Join(StopSignalNames(), ", "));
    }
    if (preemption.grace_secs && !(*preemption.grace_secs > 0 && *preemption.grace_secs < 1e9)) {
      faults_.Say(
          "tpuest.preemption.grace_secs",
          fmt::format("grace_secs is {}; expected more than 0", NumberText(*preemption.grace_secs)),
          "a minute, or less than it takes until the machine is gone");
    }
  }

  void CheckGroupDeadlines() {
    const DeadlineOptions& deadlines = job_.tpuest.deadlines;
    const auto check = [this](const std::string& name, double value, double least) {
      if (value >= least) return;
      faults_.Say(
          "tpuest.deadlines." + name,
          fmt::format("{} is {}; expected at least {}", name, NumberText(value), NumberText(least)),
          "busy machines need some time to answer");
    };
    check("rendezvous_secs", deadlines.rendezvous_secs, 1);
    check("peer_secs", deadlines.peer_secs, 2);
    if (deadlines.step_secs != 0) check("step_secs", deadlines.step_secs, 1);
  }

  void CheckColumns() {
    const std::vector<Fault> faults = nn::ColumnSet(job_.feature_columns).Faults();
    faults_.AddAll(faults);
    if (!faults.empty()) return;
    faults_.Catch([&] {
      const auto used = models::ColumnsOf(job_.model, job_.feature_columns);
      if (job_.embedding_config_spec) {
        CheckTables(*job_.embedding_config_spec, used);
      } else if (job_.estimator.use_tpu && used) {
        CheckNoTables(*used);
      }
      if (!used) return;
      const auto lists = nn::ColumnSet(job_.feature_columns).ReadAsLists(*used);
      for (const auto& [name, options] : job_.input_fns) CheckSparse(lists, name, options);
    });
  }

  // Where a SparseFeature has no value a category would be.
  void CheckSparse(const std::set<std::string>& lists, const std::string& input_fn,
                   const InputFnOptions& options) {
    for (const auto& [name, feature] : options.parse_example) {
      const auto* const sparse = std::get_if<SparseFeature>(&feature);
      if (sparse == nullptr || sparse->dtype != "int64" || sparse->default_value) continue;
      if (!lists.contains(name)) continue;
      faults_.Say(fmt::format("input_fns.{}.parse_example.{}", input_fn, name),
                  "a place without a value is 0, which its categorical column takes as category 0",
                  fmt::format("default_value: -1 is no category; {{type: RaggedFeature, value_key: "
                              "{}, dtype: int64}} has the values alone",
                              sparse->value_key));
    }
  }

  void CheckTables(const nn::EmbeddingConfigSpec& spec,
                   const std::optional<std::vector<nn::ColumnRef>>& used) {
    const EstimatorOptions& options = job_.estimator;
    const TpuConfig& tpu = options.run_config.tpu_config;
    const int input = NumberOf(tpu.per_host_input_for_training);
    if (options.use_tpu && input != 2 && input != 3) {
      faults_.Say("run_config.tpu_config.per_host_input_for_training",
                  fmt::format("Only PER_HOST_V1 and PER_HOST_V2 is supported when using TPU "
                              "Embedding; got {}.",
                              input),
                  "per_host_input_for_training: PER_HOST_V2");
    }
    if (tpu.num_shards.value_or(0) == 1 && !tpu.num_cores_per_replica) {
      faults_.Say("run_config.tpu_config.num_shards",
                  "Setting TPUConfig.num_shards==1 is unsupported when embedding_config_spec is "
                  "not None.",
                  "num_shards: 8, or use_tpu: false without num_shards");
    }
    faults_.Expect(!options.use_tpu || options.run_config.checkpoint_format != "checkpoint",
                   "run_config.checkpoint_format",
                   "object-based checkpoints cannot hold the slots of tables",
                   "checkpoint_format: saver");
    faults_.AddAll(nn::CheckSpec(spec, {.columns = nn::ColumnSet(job_.feature_columns),
                                        .use_tpu = options.use_tpu,
                                        .eval_on_tpu = options.eval_on_tpu.value_or(true),
                                        .used = used}));
  }

  // On a TPU only a spec's tables are looked up.
  void CheckNoTables(const std::vector<nn::ColumnRef>& used) {
    for (const nn::ColumnRef& column : used) {
      const nn::FeatureColumn& options = job_.feature_columns.at(column.job_name);
      if (!nn::IsTable(options)) continue;
      faults_.Add({.message = fmt::format("'{}' is a table, and the job has no "
                                          "embedding_config_spec that trains it",
                                          column.job_name),
                   .hint = fmt::format("embedding_config_spec: {{feature_columns: [{}], "
                                       "optimization_parameters: {{type: AdagradParameters, "
                                       "learning_rate: 0.1}}}}",
                                       column.job_name),
                   .place = nn::PlaceOf(options)});
      return;
    }
  }

  void CheckAverages() {
    if (job_.estimator.run_config.checkpoint_format != "checkpoint") return;
    const bool averages = models::KeepsAverages(job_.model) ||
                          (job_.optimizer && nn::AverageOf(*job_.optimizer) != nullptr);
    if (!averages) return;
    faults_.Say("run_config.checkpoint_format",
                "object-based checkpoints cannot hold an ExponentialMovingAverage",
                "checkpoint_format: saver");
  }

  void CheckTrain() {
    CheckInput("train_spec.input_fn", job_.train_spec->input_fn);
    faults_.AddAll(Validate(job_.train_spec->length(), job_.estimator.use_tpu));
    faults_.AddAll(ValidateHooks(job_.train_spec->hooks, "train_spec.hooks"));
    faults_.AddAll(
        ValidateListeners(job_.train_spec->saving_listeners, "train_spec.saving_listeners"));
    CheckEvaluators();
    faults_.AddAll(CheckEarlyStopping(job_));
    if (!job_.optimizer && !models::NamesOptimizers(job_.model)) {
      faults_.Say("train_spec", "training needs an optimizer",
                  "optimizer: {type: GradientDescentOptimizer, learning_rate: 0.05}");
    }
    CheckBatch("train", job_.estimator.train_batch_size);
    CheckBuckets(job_.train_spec->input_fn);
  }

  // The evaluations within a training.
  void CheckEvaluators() {
    std::set<std::string> names;
    for (size_t i = 0; i < job_.train_spec->hooks.size(); ++i) {
      const AnyHook& hook = job_.train_spec->hooks[i];
      const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook);
      if (evaluator == nullptr) continue;
      const std::string key = fmt::format("train_spec.hooks[{}]", i);
      CheckInput(key + ".input_fn", evaluator->input_fn);
      const std::string name = evaluator->name.value_or("");
      faults_.Expect(
          names.insert(name).second, key + ".name",
          fmt::format("two evaluations within training write events to {}/", EvalFolderName(name)),
          "give each a name of its own");
    }
  }

  // Replicas split a batch, or take one each of the same size.
  void CheckBuckets(const std::string& name) {
    const auto found = job_.input_fns.find(name);
    if (found == job_.input_fns.end() || found->second.stages.empty()) return;
    const std::vector<StageOptions>& stages = found->second.stages;
    if (!stages.back().bucket_by_sequence_length) return;
    const std::string key =
        fmt::format("input_fns.{}.stages[{}].bucket_by_sequence_length", name, stages.size() - 1);
    const EstimatorOptions& options = job_.estimator;
    if (!options.use_tpu) {
      const int replicas = ReplicasIn(options, Mode::kTrain);
      faults_.Expect(
          replicas <= 1, key,
          fmt::format("the {} replicas of a strategy take batches of one size", replicas),
          "padded_batch, or train_distribute with num_replicas: 1");
      return;
    }
    for (const int64_t size : stages.back().bucket_by_sequence_length->bucket_batch_sizes) {
      if (size == options.train_batch_size) continue;
      faults_.Say(key + ".bucket_batch_sizes",
                  fmt::format("a bucket's batch is {}, and use_tpu: true trains on batches of "
                              "train_batch_size alone",
                              size),
                  "the same number for each, or use_tpu: false");
      return;
    }
  }

  void CheckEvaluate() {
    faults_.AddAll(Validate(*job_.eval_spec));
    for (const NamedEvalSpec& named : EvalSpecsOf(job_)) {
      CheckInput(named.key + ".input_fn", named.spec->input_fn);
      faults_.AddAll(ValidateHooks(named.spec->hooks, named.key + ".hooks"));
    }
    CheckBatch("eval", job_.estimator.eval_batch_size);
  }

  // Says a fault where another section names an evaluation that is none of eval_spec.
  void CheckEval(const std::string& key, const std::string& name) {
    std::vector<std::string> labels;
    for (const NamedEvalSpec& named : EvalSpecsOf(job_)) {
      if (named.label == name) return;
      labels.push_back(named.label);
    }
    faults_.Say(key, fmt::format("'{}' is none of eval_spec", name),
                fmt::format("there are: {}", labels.empty() ? "none" : Join(labels, ", ")));
  }

  void CheckKeepBest() {
    const std::optional<KeepBest>& keep = job_.estimator.run_config.keep_best;
    if (keep && keep->eval) CheckEval("run_config.keep_best.eval", *keep->eval);
  }

  void CheckBatch(std::string_view mode, const std::optional<int64_t>& size) {
    const EstimatorOptions& options = job_.estimator;
    const bool on_host = mode == "eval" && !options.eval_on_tpu.value_or(true);
    if (!options.use_tpu || on_host || !size || *size <= 0) return;
    if (Broadcasts(options.run_config.tpu_config) || options.uneven_batches == "pad") return;
    const int replicas = ReplicasOf(job_.estimator);
    if (replicas <= 0) return;
    if (const auto fault = CheckBatchSize(mode, *size, replicas)) faults_.Add(*fault);
  }

  void CheckInput(const std::string& key, const std::string& name) {
    if (job_.input_fns.contains(name)) return;
    std::vector<std::string> names;
    for (const auto& [known, options] : job_.input_fns) names.push_back(known);
    const auto nearest = Nearest(name, names);
    faults_.Say(key, fmt::format("'{}' is none of input_fns", name),
                nearest ? fmt::format("did you mean '{}'?", *nearest)
                        : fmt::format("there are: {}", names.empty() ? "none" : Join(names, ", ")));
  }

  void CheckInputFn(const std::string& name, const InputFnOptions& options) {
    faults_.Catch([&] { std::ignore = MakeInputFn(options, name); });
  }

  // Learning rates that are formulas.
  void CheckRates() {
    const EpochFinder finder = RatesOf(job_);
    for (const Formula& formula : finder.formulas()) {
      const OpRegistry registry(ops::AllOps());
      Graph graph(registry);
      faults_.Catch(
          [&] { std::ignore = nn::LearningRateAt(graph, formula, /*steps_per_epoch=*/1.0); });
    }
  }

  const Job& job_;
  Faults faults_;
};

// The entries of `summaries` that are tags, "" in the place of the others.
std::vector<std::string> SummaryTags(const Job& job) {
  std::vector<std::string> tags;
  for (const models::AnySummary& summary : job.summaries) {
    const auto* const tag = std::get_if<std::string>(&summary);
    tags.push_back(tag == nullptr ? "" : *tag);
  }
  return tags;
}

std::vector<models::FormulaSummary> SummaryFormulas(const Job& job) {
  std::vector<models::FormulaSummary> formulas;
  for (const models::AnySummary& summary : job.summaries) {
    const auto* const formula = std::get_if<models::FormulaSummary>(&summary);
    if (formula != nullptr) formulas.push_back(*formula);
  }
  return formulas;
}

// The steps of one epoch of the training input; nullopt where neither an optimizer's schedule nor
// `summaries` speaks of epochs.
std::optional<double> StepsPerEpoch(const Job& job) {
  if (!job.train_spec || !job.estimator.train_batch_size) return std::nullopt;
  const std::vector<std::string> tags = SummaryTags(job);
  const bool is_recorded = std::find(tags.begin(), tags.end(), models::kCurrentEpoch) != tags.end();
  const EpochFinder finder = RatesOf(job);
  if (!finder.found() && !is_recorded) return std::nullopt;
  if (const std::optional<double> steps = StepsOfEpoch(job)) return steps;
  throw Error(Code::kUsage,
              fmt::format("{} of epochs, and the input does not know its size",
                          finder.found() ? "the schedule speaks" : "current_epoch is a part"),
              finder.found() ? "write steps instead" : "leave it out")
      .Key(finder.found() ? "optimizer.learning_rate" : "summaries");
}

ModelFn ModelFnOf(const Job& job, std::optional<double> steps_per_epoch,
                  const std::vector<std::string>& remat) {
  ModelFn model_fn = models::MakeModelFn(
      job.model, {job.optimizer, steps_per_epoch, job.feature_columns, SummaryTags(job),
                  SummaryFormulas(job), remat, job.embedding_config_spec});
  return WithScaffold(std::move(model_fn), job.scaffold_fn);
}

constexpr double kAnyStepsPerEpoch = 1;

// A plain Estimator asks for no batch size: the batches of training are as its input_fn makes them.
void TakeBatchOfInput(Job& job) {
  if (job.estimator.use_tpu || job.estimator.train_batch_size || !job.train_spec) return;
  const auto found = job.input_fns.find(job.train_spec->input_fn);
  if (found != job.input_fns.end()) job.estimator.train_batch_size = BatchOf(found->second);
}

}  // namespace

constexpr config::OneOrNamed kOneOrNamed[] = {{"eval_spec", "input_fn", "name", "eval"}};

std::optional<config::ModelFile> FindModel(std::string_view type) {
  if (type == kModelToEstimator) return KerasModelKeys();
  const models::ModelFile* const file = models::FindModelFile(type);
  if (file == nullptr) return std::nullopt;
  return config::ModelFile{.file = std::string(file->name), .text = file->text};
}

LoadedJob LoadJobFile(const std::string& path, const config::Layers& layers,
                      config::Sources& sources) {
  if (!FileExists(path) && IsRecipeFile(path)) {
    const std::string name = BaseName(path);
    throw Error(Code::kUsage, fmt::format("there is no file '{}'", path),
                fmt::format("'tpuest cp {}' writes it here, with its data",
                            name.substr(0, name.rfind('.'))));
  }
  return ParseJobText(config::ReadJobFile(path), path, layers, sources);
}

// Sets what `tpuest` and embedding_config_spec say of the estimator, so that every command that
// takes EstimatorOptions of a job takes these.
static void SetEstimatorOptions(Job& job) {
  job.estimator.run_config.Resolve();
  job.estimator.uneven_batches = job.tpuest.uneven_batches;
  job.estimator.on_nan = job.tpuest.on_nan;
  job.estimator.embeddings = job.tpuest.embeddings;
  const auto& tables = job.embedding_config_spec;
  job.estimator.embeddings.dealt_by_mod = tables && tables->partition_strategy == "mod";
}

LoadedJob ParseJobText(std::string_view text, const std::string& path, const config::Layers& layers,
                       config::Sources& sources) {
  config::Layers with_models = layers;
  with_models.model_files = FindModel;
  with_models.import_sections = ImportKerasModels;
  with_models.others = TensorFlowNames();
  with_models.one_or_named = kOneOrNamed;
  LoadedJob loaded = config::ParseJob<Job>(text, path, with_models, sources);
  SetEstimatorOptions(loaded.job);
  for (auto& [name, input] : loaded.job.input_fns) TakeCsvStages(input, "input_fns." + name);
  TakeBatchOfInput(loaded.job);
  for (auto& [name, input] : loaded.job.input_fns) {
    input.data_errors.options = loaded.job.tpuest.data_errors;
  }
  ApplyFold(loaded.job);
  return loaded;
}

std::string ResolvedText(const Job& job, const config::Tree& tree) {
  return config::WriteResolved(job, tree);
}

std::string ShownText(const Job& job, const config::Tree& tree) {
  return config::WriteShown(job, tree);
}

std::string MinimalText(const Job& job, const config::Tree& tree) {
  return config::WriteMinimal(job, tree);
}

std::vector<config::FlatValue> FlatJob(const Job& job) { return config::Flatten(job); }

std::vector<Fault> ValidateJob(const Job& job) { return Validator(job).Run(); }

ModelFn MakeJobModelFn(const Job& job) {
  return ModelFnOf(job, StepsPerEpoch(job), job.tpuest.remat);
}

ModelFn MakeModelFnForShapes(const Job& job) {
  return ModelFnOf(job, kAnyStepsPerEpoch, job.tpuest.remat);
}

ModelFn MakeKeepingModelFnForShapes(const Job& job) {
  return ModelFnOf(job, kAnyStepsPerEpoch, {});
}

std::vector<NamedEvalSpec> EvalSpecsOf(const Job& job) {
  return job.eval_spec ? SpecsOf(*job.eval_spec) : std::vector<NamedEvalSpec>();
}

std::string ServedInput(const Job& job) {
  if (job.predict.input_fn) return *job.predict.input_fn;
  if (job.eval_spec) return EvalSpecsOf(job)[0].spec->input_fn;
  if (job.train_spec) return job.train_spec->input_fn;
  throw Error(Code::kUsage, "the job does not say what the model is fed with",
              "predict: {input_fn: test}")
      .Key("predict.input_fn");
}

InputFn MakeJobInputFn(const Job& job, const std::string& name,
                       std::vector<std::string> forwarded) {
  InputFnOptions options = job.input_fns.at(name);
  options.forwarded = std::move(forwarded);
  InputFn input = MakeInputFn(std::move(options), name);
  const auto ranges = models::LabelRangesOf(job.model);
  return ranges.valid() ? WithLabelCheck(std::move(input), ranges) : input;
}

}  // namespace tpuest::cli
