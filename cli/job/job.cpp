#include "cli/job/job.h"

#include <algorithm>
#include <string>
#include <utility>

#include "cli/job/epochs.h"
#include "cli/job/fold.h"
#include "cli/job/keras_model.h"
#include "cli/job/recipes.h"
#include "cli/job/step_counts.h"
#include "cli/job/tensorflow_names.h"
#include "cli/shell/invocation.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/step/model/label_check.h"
#include "data/csv_stages.h"
#include "data/pipeline/input_fn.h"
#include "models/blocks/expand.h"
#include "models/model_files.h"

namespace tpuest::cli {
namespace {

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
              fmt::format("{} epochs, but the input has no known size",
                          finder.found() ? "the schedule uses" : "current_epoch counts"),
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
  if (found != job.input_fns.end()) job.estimator.train_batch_size = data::BatchOf(found->second);
}

}  // namespace

constexpr config::OneOrNamed kOneOrNamed[] = {{"eval_spec", "input_fn", "name", "eval"}};

// Returns the model file that a `type:` names.
static std::optional<models::ModelFile> FileOfModel(std::string_view type) {
  if (type == kModelToEstimator) return KerasModelKeys();
  const models::ModelFile* const file = models::FindModelFile(type);
  return file == nullptr ? std::nullopt : std::optional(*file);
}

std::vector<std::string> ModelParameterPaths(const config::Tree& job) {
  return models::ParameterPaths(job, FileOfModel);
}

void ExpandModelBlocks(config::Tree& job, config::Sources& sources, Faults& faults) {
  models::ExpandModel(job, FileOfModel, sources, faults);
}

LoadedJob LoadJobFile(const std::string& path, const config::Layers& layers,
                      config::Sources& sources) {
  if (!FileExists(path) && IsRecipeFile(path)) {
    const std::string name = BaseName(path);
    throw Error(Code::kUsage, fmt::format("the file '{}' does not exist", path),
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
  with_models.declared_paths = ModelParameterPaths;
  with_models.rewrite = [](config::Tree& job, config::Sources& texts, Faults& faults) {
    ImportKerasModels(job, texts, faults);
    ExpandModelBlocks(job, texts, faults);
  };
  with_models.others = TensorFlowNames();
  with_models.one_or_named = kOneOrNamed;
  LoadedJob loaded = config::ParseJob<Job>(text, path, with_models, sources);
  SetEstimatorOptions(loaded.job);
  for (auto& [name, input] : loaded.job.input_fns) data::TakeCsvStages(input, "input_fns." + name);
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
  throw Error(Code::kUsage, "the job has no input for predictions", "predict: {input_fn: test}")
      .Key("predict.input_fn");
}

InputFn MakeJobInputFn(const Job& job, const std::string& name,
                       std::vector<std::string> forwarded) {
  data::InputFnOptions options = job.input_fns.at(name);
  options.forwarded = std::move(forwarded);
  InputFn input = data::MakeInputFn(std::move(options), name);
  const auto ranges = models::LabelRangesOf(job.model);
  return ranges.valid() ? WithLabelCheck(std::move(input), ranges) : input;
}

}  // namespace tpuest::cli
