// tpuest migrate MODEL_DIR [--output FILE]: the job that resumes an old Estimator's folder

#include <algorithm>
#include <set>

#include "cli/job/job.h"
#include "cli/prepare/agreement/check.h"
#include "cli/prepare/commands.h"
#include "cli/prepare/migrate/job.h"
#include "cli/prepare/migrate/keras_job.h"
#include "cli/prepare/migrate/model/sequential.h"
#include "cli/run/same_run.h"
#include "cli/run/session.h"
#include "cli/shell/json.h"
#include "cli/shell/output_file.h"
#include "core/base/faults.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"
#include "models/keras/saved_folder.h"

namespace tpuest::cli {
namespace {

struct MigrateInvocation : Invocation {
  std::optional<std::string> output;
  bool force = false;
};

void Declare(FlagSet& flags, MigrateInvocation& to) {
  flags.Text("--output", to.output, "FILE",
             "job file to write; default: the name of the folder with .yaml");
  flags.Switch("--force", to.force, "overwrite the job file");
}

constexpr size_t kShownNames = 12;

std::string GraphFileOf(const std::string& model_dir, const std::string& prefix) {
  const std::string graph = GraphPath(model_dir);
  const std::string meta = MetaGraphPath(prefix);
  for (const std::string& path : {graph, meta}) {
    if (FileExists(path)) return path;
  }
  throw Error(Code::kCheckpoint,
              fmt::format("{}: has neither {} nor {}", model_dir, BaseName(graph), BaseName(meta)),
              "without a graph write the job by hand: 'tpuest inspect' lists the variables");
}

// Returns true if tf.keras.estimator.model_to_estimator wrote the folder: Keras' optimizer keeps
// its numbers below training/, and the model is not a premade estimator.
bool IsOfKerasModel(const BundleReader& variables) {
  const std::vector<std::string>& names = variables.Names();
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.starts_with("training/") || name.starts_with("save_counter");
  });
}

// Throws an Error that describes a graph without any known model.
[[noreturn]] void RefuseModel(const std::string& model_dir, const BundleReader& variables,
                              const std::string& obstacle) {
  if (IsOfKerasModel(variables)) {
    throw Error(
        Code::kCheckpoint,
        fmt::format("{}: holds a Keras model of tf.keras.estimator.model_to_estimator, whose "
                    "layers and loss cannot be read from its graph ({})",
                    model_dir, obstacle),
        "save the model with Keras (model.save('model.keras')), then 'tpuest migrate model.keras' "
        "writes its job; warm_start_from takes the weights of this folder");
  }
  std::vector<std::string> names;
  for (const std::string& name : variables.Names()) {
    if (names.size() == kShownNames) break;
    names.push_back(fmt::format("{} {}", name, variables.ShapeOf(name).Text()));
  }
  const bool cut = variables.Names().size() > names.size();
  throw Error(Code::kCheckpoint,
              fmt::format("{}: is neither a premade estimator (Linear, DNN, DNNLinearCombined, "
                          "Baseline) nor a model of layers: {}; its {} variables: {}{}",
                          model_dir, obstacle, variables.Names().size(), Join(names, ", "),
                          cut ? ", ..." : ""),
              "write a job by hand, `model: {type: Sequential, ...}`, with this model_dir; 'tpuest "
              "plan' lists the variables that do not fit");
}

// Returns true for entries of a checkpoint that are not variables of a model: iterations and rates
// of Keras' optimizers, which are scalars, and the records of a tpuest run.
bool IsOfNoModel(const std::string& name, const Shape& shape) {
  const bool is_of_keras = name.starts_with("training/") || name.starts_with("training_");
  return (is_of_keras && shape.rank() == 0) || name.starts_with("tpuest/");
}

// Returns the faults where the checkpoint does not fit the job's model. Throws an Error for an
// invalid job.
std::vector<Fault> CompareWithCheckpoint(const LoadedJob& loaded, const BundleReader& variables) {
  Faults faults;
  const auto compare = [&](const PlannedRun& run) {
    std::set<std::string> known;
    for (const auto& variable : run.model->graph->variables()) known.insert(variable->name);
    for (const std::string& stored : variables.Names()) {
      if (known.contains(stored) || IsOfNoModel(stored, variables.ShapeOf(stored))) continue;
      faults.Say("", fmt::format("\"{}\" {} is in the checkpoint but not in the model", stored,
                                 variables.ShapeOf(stored).Text()));
    }
  };
  try {
    const bool is_known = PlanWithoutData(loaded.job, compare);
    Check(is_known, "the features of parse_example are known");
    return faults.Take();
  } catch (const Error& error) {
    if (error.code() != Code::kCheckpoint) throw;
    return error.faults();
  }
}

void CheckOutput(const MigrateInvocation& invocation, const std::string& path) {
  if (!IsJobFile(path)) {
    throw Error(Code::kUsage, fmt::format("--output {}: expected a name that ends in .yaml", path));
  }
  CheckNewFile(path, invocation.force);
}

// Returns true if parts of the model that affect its predictions are marked ???: columns or layers.
bool IsModelMarked(const MigratedModel& model, const MigratedColumns& columns) {
  return !columns.unknown.empty() ||
         std::any_of(model.lines.begin(), model.lines.end(),
                     [](const MigratedLine& line) { return !line.unknown.empty(); });
}

// Returns the job's line on the comparison. Error kCheckpoint if the predictions differ although no
// part of the model is marked.
std::string CheckedLine(const std::string& path, const PredictionCheck& check, bool is_marked,
                        bool force) {
  if (check.rows == 0) return "not checked: " + check.obstacle;
  if (check.agrees()) {
    return fmt::format("checked: {} rows, largest difference {:.1g}", check.rows, check.difference);
  }
  const std::string what = fmt::format("{} rows, largest difference {:.3g}, {}", check.rows,
                                       check.difference, check.place);
  if (is_marked) return "checked: " + what + "; the parts marked ??? may be the cause";
  if (force) return "checked: " + what + ": they differ";
  throw Error(Code::kCheckpoint,
              fmt::format("{}: was not written, because its model and the graph give different "
                          "predictions from the same checkpoint: {}",
                          path, what),
              "--force writes it anyway; then compare 'tpuest predict' of the job with that of "
              "`model: {type: saved_model, path: graph.pbtxt, ...}`");
}

void Tell(const MigrateInvocation& invocation, const std::string& path, const MigratedRun& run,
          const MigratedModel& model, const MigratedJob& job, size_t faults) {
  fmt::print("{} at step {}, {} to {}\n", model.type, WithCommas(run.global_step),
             invocation.dry_run ? "nothing was written: it goes" : "written", path);
  for (const std::string& what : job.unknown) fmt::print("  ??? {}\n", what);
  if (faults == 0) {
    fmt::print(
        "the model has the checkpoint's variables; next: fill in the input, then\n  tpuest train "
        "{}\n",
        path);
  }
}

int MigrateFolder(const MigrateInvocation& invocation, const std::string& model_dir) {
  const auto prefix = LatestCheckpoint(model_dir);
  if (!prefix) {
    throw Error(Code::kCheckpoint, fmt::format("{}: has no checkpoint", model_dir));
  }
  const BundleReader variables(*prefix);
  const SeenGraph graph(GraphFileOf(model_dir, *prefix));
  const MigratedColumns columns = FindColumns(graph, variables);
  std::optional<MigratedModel> model = FindModel(graph, variables, columns);
  if (!model) {
    MigratedSequential layers = FindSequential(graph, variables);
    if (!layers.model) RefuseModel(model_dir, variables, layers.obstacle);
    model = std::move(layers.model);
  }
  std::set<std::string> features;
  for (const auto& [name, feature] : columns.features) features.insert(name);
  if (model->weight) features.insert(*model->weight);
  MigratedRun run = FindRun(graph, variables, model_dir, features);
  if (!run.batch_size && model->input && model->input->batch_size > 0) {
    run.batch_size = model->input->batch_size * run.replicas;
  }
  const MigratedJob job = WriteMigratedJob(run, *model, columns);
  const std::string path = invocation.output.value_or(run.name + ".yaml");
  CheckOutput(invocation, path);
  const std::string graph_file = GraphFileOf(model_dir, *prefix);
  config::Sources sources;
  const LoadedJob loaded = ParseJobText(job.text, path, {}, sources);
  const std::vector<Fault> faults = CompareWithCheckpoint(loaded, variables);
  std::string checked;
  if (faults.empty()) {
    const PredictionCheck check = CheckPredictions({.job = loaded.job,
                                                    .graph = graph,
                                                    .graph_file = graph_file,
                                                    .variables = variables,
                                                    .model = *model,
                                                    .columns = columns});
    checked = CheckedLine(path, check, IsModelMarked(*model, columns), invocation.force);
  }
  const std::string text = checked.empty() ? job.text : WithCheck(job.text, checked);
  if (!invocation.dry_run) WriteFileAtomically(path, text, false);
  if (invocation.json && faults.empty()) {
    PrintDocument("migrate", {{"path", path},
                              {"model", model->type},
                              {"global_step", run.global_step},
                              {"checked", checked},
                              {"unknown", job.unknown}});
  } else if (!invocation.json && !invocation.quiet) {
    Tell(invocation, path, run, *model, job, faults.size());
    if (!checked.empty()) fmt::print("{}\n", checked);
  }
  if (!faults.empty()) throw Error(Code::kCheckpoint, faults);
  return 0;
}

// Refuses a SavedModel without layers: an Estimator's export, or a tf.Module.
[[noreturn]] void RefuseSavedModel(const std::string& folder) {
  throw Error(
      Code::kCheckpoint,
      fmt::format("{}: the SavedModel has no keras_metadata.pb, so its layers are unknown", folder),
      fmt::format("model: {{type: saved_model, path: {}}} evaluates and predicts with it", folder));
}

// Writes the job of a model that Keras saved (.h5, .keras, to_json, SavedModel), with its layers to
// edit.
int MigrateKeras(const MigrateInvocation& invocation, const std::string& file) {
  const KerasFile keras = KerasFile::Open(file);
  const KerasJob model = KerasJobOf(keras);
  const std::string base = BaseName(file);
  const std::string name = base.substr(0, base.find('.'));
  const std::string path = invocation.output.value_or((name.empty() ? "keras" : name) + ".yaml");
  CheckOutput(invocation, path);
  const MigratedJob job = WriteKerasJob({.file = file, .name = name, .path = path}, keras, model);
  // Reads the written job, so that its errors show here.
  config::Sources sources;
  const LoadedJob loaded = ParseJobText(job.text, path, {}, sources);
  if (!invocation.dry_run) WriteFileAtomically(path, job.text, false);
  if (invocation.json) {
    PrintDocument(
        "migrate",
        {{"path", path}, {"model", "Functional"}, {"global_step", 0}, {"unknown", job.unknown}});
  } else if (!invocation.quiet) {
    fmt::print("{} with {} layers, {} to {}\n", NameOf(keras.kind()),
               model.model.at("layers").size(),
               invocation.dry_run ? "nothing was written: it goes" : "written", path);
    for (const std::string& what : job.unknown) fmt::print("  ??? {}\n", what);
    for (const std::string& note : model.notes) fmt::print("  note: {}\n", note);
  }
  return 0;
}

int Migrate(const MigrateInvocation& invocation, config::Sources& /*sources*/) {
  if (invocation.arguments.size() != 1) {
    throw Error(Code::kUsage, "migrate takes one folder, or one file of Keras",
                "tpuest migrate old/model_dir");
  }
  std::string model_dir = invocation.arguments[0];
  while (model_dir.size() > 1 && model_dir.back() == '/') model_dir.pop_back();
  if (FileExists(model_dir) && !DirectoryExists(model_dir)) {
    return MigrateKeras(invocation, model_dir);
  }
  if (!DirectoryExists(model_dir)) {
    throw Error(Code::kData, fmt::format("{}: there is no such folder", model_dir));
  }
  if (!LatestCheckpoint(model_dir)) {
    if (IsKerasSavedModel(model_dir)) return MigrateKeras(invocation, model_dir);
    if (IsSavedModel(model_dir)) RefuseSavedModel(model_dir);
  }
  return MigrateFolder(invocation, model_dir);
}

}  // namespace

Command MigrateCommand() {
  return MakeCommand<MigrateInvocation>(
      {.name = "migrate",
       .summary = "write a job that resumes a model_dir of TensorFlow's Estimator, or one for a "
                  "saved Keras model",
       .examples = {"tpuest migrate old/model_dir --output job.yaml",
                    "tpuest migrate model.h5 --output job.yaml"},
       .takes = Takes::kPath},
      Declare, Migrate);
}

}  // namespace tpuest::cli
