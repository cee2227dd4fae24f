#include "cli/run/export_keras.h"

#include <set>

#include "cli/job/job.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"
#include "models/keras/compile_config.h"
#include "models/keras/network_archive.h"

namespace tpuest::cli {
namespace {

// The parts of a job's model that go into the archive.
struct LayeredModel {
  const std::vector<nn::Layer>* layers = nullptr;
  std::vector<std::string> outputs;
  std::set<std::string> no_inputs;  // features that are weights of examples
  KerasJson compile = nullptr;
  std::string obstacle;  // why it is null though the model is compiled
};

// Returns the model's own optimizer, or the job's, as a Keras optimizer.
std::optional<nn::KerasOptimizer> OptimizerOf(const Job& job,
                                              const models::Functional& functional) {
  if (!functional.optimizer) {
    return job.optimizer ? KerasOptimizerLike(*job.optimizer) : std::nullopt;
  }
  const nn::PartOptimizer optimizer = nn::ByFamily(*functional.optimizer);
  if (const auto* const keras = std::get_if<nn::KerasOptimizer>(&optimizer)) return *keras;
  return KerasOptimizerLike(std::get<nn::AnyOptimizer>(optimizer));
}

// Adds the layers of a compiled model's outputs, by the outputs' names, and its compile settings.
void AddCompiled(const Job& job, const models::Functional& functional, const nn::KerasHead& head,
                 LayeredModel& layered) {
  std::map<std::string, std::string> layers;
  if (const auto* const by_output =
          std::get_if<std::map<std::string, std::string>>(&functional.outputs)) {
    layers = *by_output;
  }
  const auto* const only = std::get_if<std::string>(&functional.outputs);
  if (head.outputs.size() == 1 && only != nullptr) {
    if (!only->empty()) layered.outputs.push_back(*only);
  } else {
    for (const nn::KerasOutput& output : head.outputs) {
      const auto layer = layers.find(output.name);
      layered.outputs.push_back(layer == layers.end() ? output.name : layer->second);
    }
  }
  const std::optional<nn::KerasOptimizer> optimizer = OptimizerOf(job, functional);
  if (!optimizer) {
    layered.obstacle = "the optimizer";
    return;
  }
  if (auto compile = CompileConfigOf(head, *optimizer, layers, layered.obstacle)) {
    layered.compile = *std::move(compile);
  }
}

LayeredModel LayersOf(const Job& job) {
  const models::AnyModel& model = job.model;
  if (const auto* const sequential = std::get_if<models::Sequential>(&model)) {
    return {.layers = &sequential->layers,
            .outputs = {},
            .no_inputs = nn::WeightColumnsOf(sequential->head),
            .compile = nullptr,
            .obstacle = ""};
  }
  const auto* const functional = std::get_if<models::Functional>(&model);
  if (functional == nullptr) {
    throw Error(Code::kUsage,
                "--format keras: needs a model made of layers, such as Sequential, Functional or a "
                "model of models/zoo",
                "tpuest export without --format writes a SavedModel")
        .Key("model.type");
  }
  LayeredModel layered{.layers = &functional->layers,
                       .outputs = {},
                       .no_inputs = nn::WeightColumnsOf(functional->head),
                       .compile = nullptr,
                       .obstacle = ""};
  if (const auto* const head = std::get_if<nn::KerasHead>(&functional->head)) {
    AddCompiled(job, *functional, *head, layered);
    return layered;
  }
  if (const auto* const name = std::get_if<std::string>(&functional->outputs)) {
    if (!name->empty()) layered.outputs.push_back(*name);
    return layered;
  }
  for (const auto& [head, layer] :
       std::get<std::map<std::string, std::string>>(functional->outputs)) {
    layered.outputs.push_back(layer);
  }
  return layered;
}

StreamSpec ServedSpec(const Job& job) {
  const std::string input = ServedInput(job);
  if (auto known = data::KnownSpec(job.input_fns.at(input), input)) return *std::move(known);
  return MakeJobInputFn(job, input)({.mode = Mode::kPredict})->spec();
}

SavedState LoadServed(Session& session) {
  if (const auto given = session.Checkpoint(session.job().export_options.checkpoint_path)) {
    return LoadCheckpoint(*given);
  }
  const std::string& model_dir = session.estimator().model_dir();
  const OlderCheckpoint older = OlderIf(session.allows_older());
  if (auto newest = LoadNewest(model_dir, session.log(), older)) return *std::move(newest);
  throw Error(Code::kCheckpoint, fmt::format("Couldn't find trained model at {}.", model_dir),
              "train first, or name a checkpoint with --checkpoint");
}

KerasArchive ArchiveOf(const Job& job, const LayeredModel& model, const SavedState& saved) {
  const StreamSpec spec = ServedSpec(job);
  const OpRegistry registry(ops::AllOps());
  const BuiltModel built =
      BuildModel(MakeModelFnForShapes(job), registry,
                 {.mode = Mode::kPredict, .stream = spec, .with_scaffold = true, .params = {}});
  VariableStore values;
  RestoreVariables(saved, *built.graph, values, nullptr, RestoreNames(built));
  std::vector<KerasNetworkInput> inputs;
  for (const TensorSpec& feature : spec.features) {
    if (model.no_inputs.contains(feature.name)) continue;
    inputs.push_back({feature.name, feature.shape, feature.dtype});
  }
  return KerasArchiveOf({.layers = *model.layers,
                         .graph = *built.graph,
                         .variables = values.tensors(),
                         .inputs = std::move(inputs),
                         .outputs = model.outputs,
                         .name = "model",
                         .compile = model.compile});
}

int64_t ParametersOf(const KerasArchive& archive) {
  int64_t parameters = 0;
  for (const KerasVariables& object : archive.objects) {
    for (const Tensor& value : object.values) parameters += value.elements();
  }
  return parameters;
}

}  // namespace

int ExportKeras(Session& session, const ExportInvocation& invocation) {
  if (invocation.verify || invocation.api_version) {
    throw Error(Code::kUsage,
                fmt::format("--{}: does not apply to a .keras archive",
                            invocation.verify ? "verify" : "api-version"),
                "leave it out, or export a SavedModel: --format saved_model");
  }
  const Job& job = session.job();
  LayeredModel model = LayersOf(job);
  if (!invocation.outputs.empty()) {
    model.outputs = invocation.outputs;
    model.compile = nullptr;  // the compile settings belong to other outputs
  }
  if (model.compile.is_null() && !model.obstacle.empty() && invocation.outputs.empty()) {
    session.log().Warning("the archive has no compile settings: Keras has no equivalent of {}",
                          model.obstacle);
  }
  const SavedState saved = LoadServed(session);
  const KerasArchive archive = ArchiveOf(job, model, saved);
  const std::string folder =
      job.export_options.export_dir_base.value_or(ExportDir(session.estimator().model_dir()));
  const std::string path = JoinPath(folder, fmt::format("model-{}.keras", saved.global_step));
  if (!invocation.dry_run) {
    MakeDirectories(folder);
    WriteFileAtomically(path, KerasArchiveBytes(archive));
  }
  session.console().Clear();
  if (invocation.json) {
    PrintDocument("export", {{"global_step", saved.global_step},
                             {"path", invocation.dry_run ? Json() : Json(path)},
                             {"layers", archive.objects.size()},
                             {"parameters", ParametersOf(archive)},
                             {"checkpoint", saved.prefix}});
  } else if (!invocation.dry_run) {
    fmt::print("{}\n", path);
  }
  return 0;
}

}  // namespace tpuest::cli
