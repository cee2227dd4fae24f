#include "cli/run/same_run.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "cli/job/job.h"
#include "cli/run/record/json.h"
#include "cli/shell/json.h"
#include "config/flatten.h"
#include "core/backend/cpu/program.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"

namespace tpuest::cli {
namespace {

constexpr size_t kExamples = 3;

// Splits a path into its keys, without the indices of lists: {"model", "layers", "units"}.
std::vector<std::string> StepsOf(const std::string& path) {
  std::vector<std::string> steps = Split(path, '.');
  for (std::string& step : steps) step.resize(std::min(step.find('['), step.size()));
  return steps;
}

// Returns true for keys that say what a model's weights mean.
bool IsOfMeaning(const std::string& step) {
  static const std::set<std::string_view> kKeys = {"type",
                                                   "layers",
                                                   "units",
                                                   "filters",
                                                   "kernel_size",
                                                   "activation",
                                                   "activation_fn",
                                                   "dnn_activation_fn",
                                                   "hidden_units",
                                                   "dnn_hidden_units",
                                                   "n_classes",
                                                   "label_vocabulary",
                                                   "label_dimension",
                                                   "feature_columns",
                                                   "linear_feature_columns",
                                                   "dnn_feature_columns",
                                                   "key",
                                                   "keys",
                                                   "source_column",
                                                   "categorical_column",
                                                   "categorical_columns",
                                                   "boundaries",
                                                   "vocabulary_list",
                                                   "num_buckets",
                                                   "num_oov_buckets",
                                                   "hash_bucket_size",
                                                   "hash_key",
                                                   "mean",
                                                   "std",
                                                   "shape",
                                                   "dimension",
                                                   "combiner",
                                                   "sparse_combiner"};
  return kKeys.contains(step);
}

bool IsOfTraining(const std::string& step) {
  for (const std::string_view what :
       {"optimizer", "initializer", "regularizer", "constraint", "learning_rate"}) {
    if (step.find(what) != std::string::npos) return true;
  }
  return false;
}

bool IsOfModel(const config::Difference& difference) {
  const std::vector<std::string> steps = StepsOf(difference.path);
  if (std::any_of(steps.begin(), steps.end(), IsOfTraining)) return false;
  const bool is_column = steps[0] == "feature_columns" && difference.a && difference.b;
  return (steps[0] == "model" || is_column) && IsOfMeaning(steps.back());
}

// Returns the label column of the training input, if the job names it.
std::vector<config::FlatValue> LabelKeys(const Job& job,
                                         const std::vector<config::FlatValue>& keys) {
  std::vector<config::FlatValue> found;
  if (!job.train_spec) return found;
  const std::string input = fmt::format("input_fns.{}.", job.train_spec->input_fn);
  for (const char* const key : {"labels", "source.label_name"}) {
    if (const config::FlatValue* value = config::FindValue(keys, input + key)) {
      found.push_back(*value);
    }
  }
  return found;
}

// Returns the keys in which this job's model differs from the run's.
std::vector<config::Difference> Differences(const Job& run, const Job& job) {
  const std::vector<config::FlatValue> there = FlatJob(run);
  const std::vector<config::FlatValue> here = FlatJob(job);
  std::vector<config::Difference> differences = config::DifferencesOf(there, here);
  std::erase_if(differences, [](const auto& each) { return !IsOfModel(each); });
  const std::vector<config::Difference> labels =
      config::DifferencesOf(LabelKeys(run, there), LabelKeys(job, here));
  for (const config::Difference& label : labels) {
    if (label.a && label.b) differences.push_back(label);
  }
  return differences;
}

Fault OwnerOf(const Job& run, const std::string& model_dir, int64_t step) {
  const Json record = ReadRunJson(model_dir).value_or(Json::object());
  const bool has_command = record.contains("argv") && record["argv"].is_string();
  return {.message = fmt::format(
              "{}: holds the run of another job{}{}, at step {}", model_dir,
              run.name ? fmt::format(", '{}'", *run.name) : "",
              has_command ? fmt::format(" ({})", record["argv"].get<std::string>()) : "", step),
          .hint = fmt::format("--model-dir DIR gives this job a folder of its own; "
                              "warm_start_from: {} starts from that run's weights",
                              model_dir),
          .key = "",
          .place = {}};
}

// Returns the job that the run in model_dir was last started with; null if no readable job is
// there.
std::unique_ptr<LoadedJob> JobOfRun(const std::string& model_dir) {
  const std::string path = ResolvedJobPath(model_dir);
  if (!FileExists(path)) return nullptr;
  config::Sources sources;
  try {
    return std::make_unique<LoadedJob>(LoadJobFile(path, {}, sources));
  } catch (const Error&) {
    return nullptr;  // written by a version with other keys, or damaged: the weights themselves
                     // decide
  }
}

}  // namespace

void CheckResume(const Job& job, const std::string& model_dir) {
  const std::string& resume = job.tpuest.resume;
  if (resume == "must" && CheckpointsIn(model_dir).empty()) {
    throw Error(Code::kCheckpoint, fmt::format("{}: has no checkpoint to resume from", model_dir),
                "tpuest.resume is `must`; `auto` starts without a checkpoint")
        .Key("tpuest.resume");
  }
  if (resume == "never" && DirectoryExists(model_dir) && !ListDirectory(model_dir).empty()) {
    throw Error(Code::kCheckpoint, fmt::format("{}: is not empty", model_dir),
                "tpuest.resume is `never`; --model-dir DIR gives this job a folder of its own")
        .Key("tpuest.resume");
  }
}

void CheckSameRun(const Job& job, const std::string& model_dir) {
  const std::map<int64_t, std::string> checkpoints = CheckpointsIn(model_dir);
  if (checkpoints.empty()) return;
  const std::unique_ptr<LoadedJob> run = JobOfRun(model_dir);
  if (!run) return;
  const std::vector<config::Difference> differences = Differences(run->job, job);
  if (differences.empty()) return;
  std::vector<Fault> faults = {OwnerOf(run->job, model_dir, checkpoints.rbegin()->first)};
  for (const config::Difference& each : differences) {
    if (faults.size() > kExamples) break;
    faults.push_back({.message = fmt::format("{} is {} there, {} here", each.path,
                                             each.a.value_or("absent"), each.b.value_or("absent")),
                      .hint = "",
                      .key = each.b ? each.path : "",
                      .place = {}});
  }
  if (differences.size() > kExamples) {
    faults.back().hint = fmt::format("and {} more", differences.size() - kExamples);
  }
  throw Error(Code::kCheckpoint, std::move(faults));
}

bool PlanWithoutData(const Job& job, const std::function<void(const PlannedRun&)>& use) {
  const std::string& name = job.train_spec->input_fn;
  const std::optional<StreamSpec> spec = data::KnownSpec(job.input_fns.at(name), name);
  if (!spec) return false;
  const OpRegistry registry(ops::AllOps());
  const std::unique_ptr<Backend> backend = MakeCpuBackend();
  const SystemClock clock;
  const StopSignal never;
  Log log;
  const ModelFn model_fn = MakeModelFnForShapes(job);
  use(PlanTraining({.model_fn = model_fn,
                    .options = job.estimator,
                    .stream = *spec,
                    .length = job.train_spec->length(),
                    .home = {registry, *backend, log, clock, never}}));
  return true;
}

void CheckFinishedRun(const Job& job, const std::string& model_dir) {
  if (FileExists(ResolvedJobPath(model_dir))) return;
  try {
    (void)PlanWithoutData(job, [](const PlannedRun& /*run*/) {});
  } catch (const Error& error) {
    if (error.code() != Code::kCheckpoint) throw;
    std::vector<Fault> faults = {
        {.message =
             fmt::format("{}: holds a finished run with the weights of another model", model_dir),
         .hint = "--model-dir DIR gives this job a folder of its own",
         .key = "",
         .place = {}}};
    for (const Fault& fault : error.faults()) {
      if (faults.size() <= kExamples) faults.push_back(fault);
    }
    throw Error(Code::kCheckpoint, std::move(faults));
  }
}

}  // namespace tpuest::cli
