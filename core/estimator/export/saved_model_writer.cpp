#include "core/estimator/export/saved_model_writer.h"

#include <algorithm>
#include <cmath>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/export/export_folder.h"
#include "core/estimator/export/export_verifier.h"
#include "core/estimator/step/model/int64_check.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/estimator/step/model/scaffold.h"
#include "core/io/row_names.h"
#include "core/io/saved_model_folder.h"
#include "core/nn/columns/table_rows.h"
#include "core/nn/global_step.h"
#include "core/ops/array.h"

namespace tpuest {
namespace {

std::string TagOf(Mode mode) {
  return mode == Mode::kPredict ? kServeTag : std::string(ModeName(mode));
}

// A metric's update as a tensor: signatures name tensors, and the update is a node without an
// output.
Value UpdateTensor(Graph& graph, Node* update) {
  const AfterScope after(graph);
  const Value wrapper = graph.Constant(Tensor(DType::kFloat, {0}), "metric_op_wrapper");
  if (update != nullptr) wrapper.node->AddControlInput(update);
  return wrapper;
}

std::map<std::string, std::pair<Value, Value>> BuildMetrics(Graph& graph,
                                                            const TPUEstimatorSpec& spec) {
  std::map<std::string, std::pair<Value, Value>> metrics;
  if (spec.mode == Mode::kPredict) return metrics;
  const auto add = [&](const std::map<std::string, MetricOps>& ops) {
    for (const auto& [name, metric] : ops) {
      metrics[name] = {metric.value, UpdateTensor(graph, metric.update)};
    }
  };
  add(spec.eval_metric_ops);
  if (spec.eval_metrics) add(spec.eval_metrics->fn(graph, spec.eval_metrics->tensors));
  return metrics;
}

void CheckTypes(const ServingInputReceiver& receiver, const TPUEstimatorSpec& spec,
                const Graph& graph) {
  std::vector<DeviceInput> inputs;
  for (const auto& [name, value] : receiver.features) {
    const auto key = receiver.feature_keys.find(name);
    inputs.push_back({{.name = name,
                       .dtype = value.dtype(),
                       .key = key == receiver.feature_keys.end() ? "" : key->second},
                      value});
  }
  RefuseInt64OnDevice(graph, spec, inputs);
}

// Makes the variables of tables of which the checkpoint has only the materialized rows.
void AddSavedRows(const SavedState& saved, bool for_tpu, Graph& graph,
                  std::map<std::string, std::string>& restore_names) {
  for (const std::string& table : TablesSavedByRows(saved)) {
    if (for_tpu) {
      throw Error(
          Code::kUsage,
          fmt::format("{} has only the materialized rows of \"{}\", which a TPU cannot look up",
                      saved.prefix, table),
          "export_to_tpu: false")
          .Key("export_to_tpu");
    }
    const std::string values = RowValuesName(table);
    const Shape shape = saved.on_disk->ShapeOf(values);
    nn::AddWrittenRows(graph, table, shape.dim(0), shape.dim(1), saved.resume.seed.value_or(0));
    restore_names[table] = values;
  }
}

// Throws the Error of a restore and adds its mode.
[[noreturn]] void ThrowMissing(Mode mode, const SavedState& saved, const Error& error) {
  std::vector<Fault> faults = error.faults();
  faults.front().message = fmt::format(
      "Could not load all requested variables from checkpoint. Please make sure your model_fn does "
      "not expect variables that were not saved in the checkpoint. Encountered error with mode "
      "`{}` while restoring checkpoint from: `{}`. {}",
      ModeName(mode), saved.prefix, faults.front().message);
  throw Error(error.code(), std::move(faults));
}

}  // namespace

ExportResult SavedModelWriter::Write(const ExportArgs& args) {
  CheckArgs(args);
  if (args.batch_config && context_.options.export_saved_model_api_version == 1) {
    context_.home.log.Warning(
        "batch_config requires API version 2, but this export is of version 1");
  }
  const SavedState saved = FindModel(args);
  const uint64_t seed = context_.Seed(saved.resume);
  std::vector<Part> parts = BuildParts(args, &saved);
  Log& log = context_.home.log;
  for (const Part& part : parts) LogSignatures(part.signatures, log);
  log.Info("Restoring parameters from {}", saved.prefix);
  if (context_.home.dry_run) {
    (void)Variables(parts, saved);
    log.Info("Dry run: export would take {}; nothing was written", saved.prefix);
    return ResultOf(parts, saved, "");
  }
  RemoveUnfinishedExports(args.export_dir_base);
  const double now = context_.home.clock.WallSeconds();
  ExportFolder folder(args.export_dir_base,
                      args.is_newest ? TimeOfNewest(args.export_dir_base, now) : now, log);
  WriteFiles(folder.temporary(), parts, saved, args);
  if (args.verify) {
    VerifyExport(folder.temporary(), *args.verify, saved, seed, context_);
  }
  if (context_.home.stop.requested()) ThrowStopped(context_.home.stop, "the export");
  ExportResult result = ResultOf(parts, saved, folder.Commit(context_.home.fsync));
  log.Info("SavedModel written to: {}", result.path);
  return result;
}

void SavedModelWriter::TryBuild(const ExportArgs& args) const {
  CheckArgs(args);
  (void)BuildParts(args, nullptr);
}

ExportResult SavedModelWriter::ResultOf(const std::vector<Part>& parts, const SavedState& saved,
                                        std::string path) {
  ExportResult result{
      .path = std::move(path), .global_step = saved.global_step, .checkpoint = saved.prefix};
  for (const Part& part : parts) {
    for (const auto& [key, signature] : part.signatures.included) {
      ExportedSignature& exported = result.signatures.emplace_back();
      exported = {key, part.tags, signature.method_name, {}, {}};
      for (const auto& [name, value] : signature.inputs) exported.inputs.push_back(name);
      for (const auto& [name, value] : signature.outputs) exported.outputs.push_back(name);
    }
    result.excluded.insert(part.signatures.excluded.begin(), part.signatures.excluded.end());
  }
  return result;
}

void SavedModelWriter::CheckArgs(const ExportArgs& args) const {
  const EstimatorOptions& options = context_.options;
  if (args.input_receivers.empty()) {
    throw Error(Code::kUsage, "No valid modes for exporting found. Got {}.",
                "export: {experimental_mode: PREDICT}")
        .Key("export.experimental_mode");
  }
  for (const auto& [mode, receiver] : args.input_receivers) {
    if (!receiver) throw Error(Code::kUsage, "An input_receiver_fn must be defined.");
    if (mode != Mode::kPredict && options.ExportsToTpu()) {
      context_.home.log.Warning(
          "TPUEstimator only handles mode PREDICT for exporting when `export_to_tpu` is `True`; "
          "Mode {} will be ignored for TPU.",
          ModeName(mode));
    }
  }
  for (const auto& [destination, source] : args.assets_extra) {
    const bool leaves = destination.empty() || destination.front() == '/' ||
                        destination.find("..") != std::string::npos;
    if (leaves) {
      throw Error(Code::kUsage,
                  fmt::format("assets_extra: '{}' is not a path below assets.extra/", destination))
          .Key("export.assets_extra");
    }
    if (!FileExists(source)) {
      throw Error(Code::kData, fmt::format("assets_extra: {}: there is no such file", source))
          .Key("export.assets_extra." + destination);
    }
  }
}

SavedState SavedModelWriter::FindModel(const ExportArgs& args) const {
  if (args.checkpoint) return context_.Checkpoint(*args.checkpoint);
  std::optional<SavedState> newest =
      LoadNewest(context_.model_dir, context_.home.log, OlderIf(args.allow_older));
  if (newest) {
    newest->dealt_by_mod = context_.options.embeddings.dealt_by_mod;
    return std::move(*newest);
  }
  if (context_.options.warm_start_from) {
    return context_.Checkpoint(PathOf(*context_.options.warm_start_from));
  }
  throw Error(Code::kCheckpoint,
              fmt::format("Couldn't find trained model at {}.", context_.model_dir),
              "train first, or name a checkpoint with --checkpoint");
}

std::vector<SavedModelWriter::Part> SavedModelWriter::BuildParts(const ExportArgs& args,
                                                                 const SavedState* saved) const {
  const EstimatorOptions& options = context_.options;
  std::vector<Part> parts;
  for (const Mode mode : {Mode::kTrain, Mode::kEval, Mode::kPredict}) {
    if (!args.input_receivers.contains(mode)) continue;
    if (mode != Mode::kPredict || options.export_to_cpu) {
      parts.push_back(Build(mode, false, args, saved));
    }
    if (mode == Mode::kPredict && options.ExportsToTpu()) {
      parts.push_back(Build(mode, true, args, saved));
    }
  }
  return parts;
}

SavedModelWriter::Part SavedModelWriter::Build(Mode mode, bool for_tpu, const ExportArgs& args,
                                               const SavedState* saved) const {
  Log& log = context_.home.log;
  Part part{.graph = std::make_unique<Graph>(context_.home.registry), .tags = {TagOf(mode)}};
  Graph& graph = *part.graph;
  nn::GetOrCreateGlobalStep(graph);
  if (saved != nullptr && mode != Mode::kTrain) {
    AddSavedRows(*saved, for_tpu, graph, part.restore_names);
  }
  part.receiver = args.input_receivers.at(mode)(graph);
  Params params{.use_tpu = for_tpu};
  if (for_tpu) params.batch_config = args.batch_config;
  log.Info("Calling model_fn.");
  log.Info("Running {} on {}", ModeName(mode), for_tpu ? "TPU" : "CPU/GPU");
  part.spec = context_.model_fn(graph,
                                {.features = part.receiver.features,
                                 .present = part.receiver.present,
                                 .labels = part.receiver.labels},
                                mode, params);
  log.Info("Done calling model_fn.");
  CheckSpec(graph, mode, params, part.spec);
  if (const auto scaffold = CallScaffoldFn(graph, part.spec)) {
    part.restore_names.insert(scaffold->restore_names.begin(), scaffold->restore_names.end());
    part.local_init_op = scaffold->local_init_op;
  }
  part.signatures = mode == Mode::kPredict ? ServingSignatures(part.spec, part.receiver)
                                           : SupervisedSignatures(part.spec, part.receiver,
                                                                  BuildMetrics(graph, part.spec));
  if (!for_tpu) return part;
  part.tags.emplace_back(kTpuTag);
  CheckTypes(part.receiver, part.spec, graph);
  const bool wraps = context_.options.export_saved_model_api_version == 1;
  if (wraps || part.spec.inference_on_tpu) part.tpu = CallOf(part);
  return part;
}

// Version 1 wraps the whole model_fn: the call returns the predictions, then the values of the
// export_outputs. In version 2 the model_fn determines where the call begins, and the call returns
// the values that are read after it.
TpuInference SavedModelWriter::CallOf(const Part& part) const {
  TpuInference call{.api_version = context_.options.export_saved_model_api_version};
  if (call.api_version == 2) {
    call.inputs = part.spec.inference_on_tpu->inputs;
    call.batch_config = part.spec.inference_on_tpu->batch_config;
    return call;
  }
  for (const auto& [name, value] : part.receiver.features) call.inputs.push_back(value);
  for (const auto& [name, value] : part.receiver.present) call.inputs.push_back(value);
  for (const auto& [name, value] : part.spec.predictions) call.results.push_back(value);
  for (const auto& [key, output] : part.spec.export_outputs) {
    for (const auto& [name, value] : output.outputs) call.results.push_back(value);
  }
  if (part.spec.export_outputs.empty()) {
    for (const auto& [name, value] : part.spec.predictions) call.results.push_back(value);
  }
  return call;
}

std::vector<NamedTensor> SavedModelWriter::Variables(const std::vector<Part>& parts,
                                                     const SavedState& saved) const {
  VariableStore restored;
  for (const Part& part : parts) {
    // The values of the last part remain.
    if (part.restore_names != parts.back().restore_names) {
      context_.home.log.Warning(
          "An export has one value per variable for all its modes: {} gets those of {}, although "
          "it would otherwise restore moving averages",
          part.tags.front(), parts.back().tags.front());
    }
    try {
      RestoreVariables(saved, *part.graph, restored, nullptr, part.restore_names);
    } catch (const Error& error) {
      ThrowMissing(part.spec.mode, saved, error);
    }
  }
  // Runs a server's initialization now, after which the variables have their values.
  const Part& last = parts.back();
  RunLocalInit(context_.home.backend, *last.graph, {.local_init_op = last.local_init_op}, restored);
  std::vector<NamedTensor> tensors;
  for (const auto& [name, value] : restored.tensors()) tensors.push_back({name, value});
  return tensors;
}

std::map<std::string, std::string> SavedModelWriter::FindAssets(std::vector<Part>& parts) {
  std::map<std::string, std::string> files;
  const auto name_of = [&](const std::string& path) {
    std::string name = BaseName(path);
    for (int i = 1; files.contains(name) && files[name] != path; ++i) {
      name = fmt::format("{}_{}", BaseName(path), i);
    }
    files[name] = path;
    return name;
  };
  for (Part& part : parts) {
    for (const auto& node : part.graph->nodes()) {
      if (node->type() != "InitializeTableFromTextFileV2") continue;
      const Value path = node->input(1);
      const Tensor text = ConstantValue(path);
      const bool known = std::any_of(part.assets.begin(), part.assets.end(),
                                     [&](const ExportAsset& asset) { return asset.path == path; });
      if (!text.valid() || known) continue;
      part.assets.push_back({path, name_of(std::string(text.strings()[0]))});
    }
  }
  return files;
}

void SavedModelWriter::WriteFiles(const std::string& folder, std::vector<Part>& parts,
                                  const SavedState& saved, const ExportArgs& args) const {
  const bool fsync = context_.home.fsync;
  const std::map<std::string, std::string> assets = FindAssets(parts);
  std::vector<MetaGraphSpec> specs;
  for (const Part& part : parts) {
    specs.push_back({.graph = *part.graph,
                     .tags = part.tags,
                     .signatures = part.signatures.included,
                     .assets = part.assets,
                     .train_op = part.spec.train_op,
                     .loss = part.spec.loss,
                     .strip_default_attrs = args.strip_default_attrs,
                     .reads_per_use = part.spec.mode == Mode::kPredict,
                     .tpu = part.tpu});
  }
  const std::string bytes = ToSavedModel(specs, args.as_text);
  const std::vector<NamedTensor> variables = Variables(parts, saved);
  const std::string prefix = SavedModelVariables(folder);
  MakeDirectories(DirName(prefix));
  WriteBundle(prefix, variables, {.fsync = fsync});
  const auto copy = [&](const std::string& source, std::string_view to, const std::string& name) {
    const std::string path = JoinPath(JoinPath(folder, to), name);
    MakeDirectories(DirName(path));
    WriteFileAtomically(path, ReadFile(source), fsync);
  };
  if (context_.home.tensorflow_words) {
    for (size_t i = 0; i < parts.size(); ++i) context_.home.log.Info("Assets added to graph.");
    context_.home.log.Info("{}", assets.empty()
                                     ? "No assets to write."
                                     : "Assets written to: " + JoinPath(folder, kAssets));
  }
  for (const auto& [name, source] : assets) copy(source, kAssets, name);
  for (const auto& [name, source] : args.assets_extra) copy(source, kAssetsExtra, name);
  WriteFileAtomically(SavedModelPath(folder, args.as_text), bytes, fsync);
}

}  // namespace tpuest
