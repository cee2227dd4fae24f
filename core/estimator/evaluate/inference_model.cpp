// A model for EVAL or PREDICT, run on batches of any size up to the full one.
//
// Input: a checkpoint or none, and batches, of which the last may be short. Output per batch: the
// loss and the tensors for the metrics, or the predictions. The variant of the model, by {with
// example_weight, replicas}, for a batch size of 8 on 2 replicas:
//
//   8 rows                                  {false, 2}   full_, built by Load
//   3 rows, PREDICT                         {false, 2}   padded to 8; the caller cuts the results
//   3 rows, EVAL, example_weight is read    {true, 2}    padded to 8, padding has weight 0
//   3 rows, EVAL, it is unused              {false, 1}   3 rows on one replica
//   9 rows                                  {false, 1}   9 rows on one replica
//
// Invariants:
//   - All variants read the same variables, which Load fills. The model_fn is called once per
//     variant.
//   - Padding changes no metric: it is cut off, has weight 0, or is absent.
//   - The scaffold_fn is called once, for full_.
//   - In a group, all processes run the variants with several replicas, each on its own replicas
//     (the chief reads all rows of an evaluation, because metrics may depend on inputs). Only the
//     chief runs the variant with one replica. Every example counts once, and all sums have the
//     same bits as in one process.

#include "core/estimator/evaluate/inference_model.h"

#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/checkpoint/warm_start/warm_start.h"
#include "core/estimator/contract/filled_up.h"
#include "core/estimator/group/control_messages.h"
#include "core/estimator/step/input_partition.h"
#include "core/estimator/step/model/scaffold.h"
#include "core/estimator/step/programs/host_call_runner.h"

namespace tpuest {
namespace {

// The values that the model computes in its mode.
std::vector<Value> Fetches(const TPUEstimatorSpec& spec, Mode mode) {
  std::vector<Value> fetches;
  if (mode == Mode::kPredict) {
    for (const auto& [name, value] : spec.predictions) fetches.push_back(value);
    return fetches;
  }
  fetches.push_back(spec.loss);
  if (spec.eval_metrics) {
    for (const auto& [name, value] : spec.eval_metrics->tensors) fetches.push_back(value);
  }
  if (spec.host_call) {
    for (const auto& [name, value] : spec.host_call->tensors) fetches.push_back(value);
  }
  return fetches;
}

// The nodes that update variables with each batch: eval_metric_ops.
std::vector<Node*> Targets(const TPUEstimatorSpec& spec) {
  std::vector<Node*> targets;
  for (const auto& [name, metric] : spec.eval_metric_ops) {
    if (metric.update != nullptr) targets.push_back(metric.update);
  }
  return targets;
}

// The shapes of the inputs with the rows of all processes together.
std::vector<Shape> ShapesOfAll(const std::vector<Tensor>& inputs, const Batch& batch) {
  std::vector<Shape> shapes = ShapesOf(inputs);
  if (batch.whole_rows == 0) return shapes;
  for (Shape& shape : shapes) shape.set_dim(0, batch.whole_rows);
  return shapes;
}

// Returns the batch without the padding at its end.
Batch WithoutPadding(const Batch& batch) {
  Batch cut = batch;
  const int64_t rows = RowsOf(batch);
  if (!batch.example_weight.valid()) cut.examples = rows;
  if (cut.examples == rows) return cut;
  for (Tensor& feature : cut.features) feature = feature.Rows(0, cut.examples);
  for (Tensor& present : cut.present) present = present.Rows(0, cut.examples);
  cut.labels = cut.labels.Map([&](const Tensor& label) { return label.Rows(0, cut.examples); });
  return cut;
}

}  // namespace

std::optional<SavedState> InferenceModel::Find(const std::optional<std::string>& path,
                                               OlderCheckpoint older) const {
  if (path) return context_.Checkpoint(*path);
  std::optional<SavedState> newest = LoadNewest(context_.model_dir, context_.home.log, older);
  if (!newest) {
    context_.home.log.Info(
        "Could not find trained model in model_dir: {}, running "
        "initialization to {}.",
        context_.model_dir, mode_ == Mode::kEval ? "evaluate" : "predict");
  } else {
    newest->dealt_by_mod = context_.options.embeddings.dealt_by_mod;
  }
  return newest;
}

bool InferenceModel::Begin(const StreamSpec& stream, int64_t batch_size) {
  const bool is_new = !stream_ || !SameSpec(*stream_, stream);
  if (is_new) {
    full_ = nullptr;
    variants_.clear();
    stream_ = stream;
  }
  batch_size_ = batch_size;
  full_ = &VariantFor({false, context_.ReplicasIn(mode_)});
  // Sizes that follow from values are those of a whole batch.
  if (full_->programs->is_sized_by_values()) full_ = &VariantFor({false, 1});
  return is_new;
}

void InferenceModel::KeepRows() {
  if (variables_.tables().keeping() != nullptr) return;
  if (is_spread()) {
    if (const std::optional<RowKeeping> keeping = context_.RowsKept())
      variables_.tables().KeepRows(*keeping);
  } else if (context_.home.backends().device.keeps_rows()) {
    variables_.tables().KeepRows(KeepingOf(context_.options.embeddings));
  }
}

void InferenceModel::Take(const StreamSpec& stream, const std::map<std::string, Tensor>& variables,
                          const std::vector<std::shared_ptr<RowTable>>& tables,
                          int64_t batch_size) {
  (void)Begin(stream, batch_size);
  KeepRows();
  for (const std::shared_ptr<RowTable>& table : tables) variables_.SetTable(table);
  for (const auto& [name, value] : variables) variables_.Set(name, value);
}

// Steps that update metric variables run in one process.
bool InferenceModel::Spreads(const TPUEstimatorSpec& spec, int replicas) const {
  if (context_.collective == nullptr || replicas == 1) return false;
  if (replicas != context_.ReplicasIn(Mode::kTrain) || !spec.eval_metric_ops.empty()) return false;
  return !context_.collective->is_chief() || !context_.home.dry_run;
}

bool InferenceModel::Load(const StreamSpec& stream, const std::optional<SavedState>& saved,
                          int64_t batch_size) {
  const bool is_new = Begin(stream, batch_size);
  const Graph& graph = *full_->model.graph;
  Log& log = context_.home.log;
  log.Info("Graph was finalized.");
  Backend& backend = context_.home.backend;
  KeepRows();
  if (saved) {
    if (!saved->prefix.empty()) log.Info("Restoring parameters from {}", saved->prefix);
    RestoreVariables(*saved, graph, variables_, nullptr, RestoreNames(full_->model));
    InitializeVariables(backend, graph, Which::kLocal, *context_.seed, variables_);
    if (full_->model.scaffold) RunLocalInit(backend, graph, *full_->model.scaffold, variables_);
    LogLocalInit(context_.home);
    return is_new;
  }
  InitializeVariables(backend, graph, Which::kAll, *context_.seed, variables_);
  RunInitFn(graph, full_->model.scaffold, log, variables_);
  if (context_.options.warm_start_from) {
    WarmStart(*context_.options.warm_start_from, graph,
              {.backend = backend,
               .seed = *context_.seed,
               .log = log,
               .dealt_by_mod = context_.options.embeddings.dealt_by_mod},
              variables_);
  }
  if (full_->model.scaffold) RunLocalInit(backend, graph, *full_->model.scaffold, variables_);
  LogLocalInit(context_.home);
  return is_new;
}

InferenceModel::Variant& InferenceModel::VariantFor(Key key) {
  std::unique_ptr<Variant>& variant = variants_[key];
  if (variant != nullptr) return *variant;
  const auto [with_weight, replicas] = key;
  context_.home.log.Info("Calling model_fn.");
  if (!context_.OnTpu(mode_)) {
    if (context_.options.use_tpu) {
      context_.home.log.Info("_is_running_on_cpu: eval_on_tpu disabled");
    }
    context_.home.log.Info("Running {} on CPU/GPU", ModeName(mode_));
  }
  auto made = std::make_unique<Variant>();
  made->model = BuildModel(context_.model_fn, context_.home.registry,
                           {.mode = mode_,
                            .stream = *stream_,
                            .with_example_weight = with_weight,
                            .with_scaffold = full_ == nullptr,
                            .params = context_.ParamsFor(mode_, batch_size_, replicas)});
  context_.home.log.Info("Done calling model_fn.");
  CheckMetricNames(made->model.spec.eval_metric_ops);
  if (replicas > 1 && made->model.spec.eval_metrics) {
    CheckOutfedTensors(made->model.spec.eval_metrics->tensors);
  }
  const BuiltModel& model = made->model;
  made->is_spread = Spreads(model.spec, replicas);
  made->args.emplace(StepProgramArgs{
      .graph = *model.graph,
      .inputs = model.inputs,
      .fetches = Fetches(model.spec, mode_),
      .broadcast = replicas > 1 && context_.BroadcastsIn(mode_),
      .targets = Targets(model.spec),
      .options = {.replicas = replicas,
                  .partitions = context_.CoresIn(mode_),
                  .threads = context_.threads,
                  .seed = *context_.seed,
                  .seeds_by_name = context_.seeds_by_name,
                  .device = context_.home.device_options,
                  .collective = made->is_spread ? context_.collective.get() : nullptr},
      .partitions = PartitionsOf(context_, mode_, *stream_, model)});
  made->programs =
      std::make_unique<StepPrograms>(context_.home.backends(), variables_, *made->args);
  made->metrics = std::make_unique<HostGraph>(context_.home.backend, *model.graph, variables_,
                                              context_.threads);
  variant = std::move(made);
  return *variant;
}

std::pair<InferenceModel::Variant*, bool> InferenceModel::VariantOf(int64_t examples) {
  if (examples == batch_size_ || full_->programs->is_sized_by_values()) return {full_, false};
  // A bucket's batch may be larger than the batch size.
  if (examples > batch_size_) return {&VariantFor({false, 1}), false};
  if (mode_ == Mode::kPredict) return {full_, true};
  if (const int replicas = context_.ReplicasIn(mode_); replicas > 1) {
    Variant& weighted = VariantFor({true, replicas});
    if (weighted.model.uses_example_weight) return {&weighted, true};
  }
  return {&VariantFor({false, 1}), false};
}

InferenceModel::Output InferenceModel::Run(const Batch& given, StepTrace* trace) {
  const Batch batch = WithoutPadding(given);
  const auto [variant, is_padded] = VariantOf(batch.examples);
  if (variant->is_spread) SendControl(*context_.home.group, BatchMessage{.after = batch.after});
  const std::vector<Tensor> inputs = InputsOf(variant->model, is_padded ? Padded(batch) : batch);
  const TPUEstimatorSpec& spec = variant->model.spec;
  if (trace != nullptr && context_.home.device == nullptr) {
    StepProgramArgs args = *variant->args;
    args.shapes = ShapesOfAll(inputs, batch);
    if (variant->programs->is_sized_by_values()) args.values = inputs;
    args.options.trace = trace;
    return {spec, StepProgram(context_.home.backends(), variables_, args).RunWhole(inputs)};
  }
  const double begin = context_.home.clock.Seconds();
  Output output{spec, variant->programs->For(inputs, ShapesOfAll(inputs, batch))->RunWhole(inputs)};
  if (trace != nullptr) {
    trace->Add({"batch", "session.run", 0, begin, context_.home.clock.Seconds()});
  }
  return output;
}

// Only this process computes the summaries; in a group no other process takes part.
void InferenceModel::MakeSummaries(Variant& variant) {
  if (variant.scalars != nullptr) return;
  StepProgramArgs args = *variant.args;
  args.fetches.clear();
  args.targets.clear();
  args.options.collective = nullptr;
  for (const auto& [tag, value] : variant.model.spec.summaries) args.fetches.push_back(value);
  variant.distributions = std::make_unique<Distributions>(
      context_.home.backends_alone(), variables_, variant.model, args.options, args.broadcast);
  variant.scalars =
      std::make_unique<StepPrograms>(context_.home.backends_alone(), variables_, std::move(args));
}

BatchSummaries InferenceModel::SummariesOf(const Batch& given) {
  const Batch batch = WithoutPadding(given);
  const bool is_full = batch.examples == batch_size_ || full_->programs->is_sized_by_values();
  Variant& variant = is_full ? *full_ : VariantFor({false, 1});
  MakeSummaries(variant);
  BatchSummaries summaries;
  if (!variant.model.spec.summaries.empty()) {
    const std::vector<Tensor> inputs = InputsOf(variant.model, batch);
    for (const Tensor& value : variant.scalars->For(inputs, ShapesOf(inputs))->RunWhole(inputs)) {
      summaries.scalars.push_back(static_cast<float>(value.AsDouble(0)));
    }
  }
  if (!variant.distributions->empty()) {
    summaries.distributions = variant.distributions->Compute(batch);
  }
  return summaries;
}

void InferenceModel::RunShare(const Batch& given) {
  const Batch batch = WithoutPadding(given);
  const auto [variant, is_padded] = VariantOf(batch.examples);
  const std::vector<Tensor> inputs = InputsOf(variant->model, is_padded ? Padded(batch) : batch);
  const std::shared_ptr<StepProgram> program = variant->programs->For(ShapesOfAll(inputs, batch));
  const StepFeeds feeds = program->Prepare(inputs);
  (void)program->RunDevice({&feeds, 1});
}

bool InferenceModel::needs_all_rows() const {
  const BuiltModel& model = full_->model;
  return ReadsInputsOnHost(*model.graph, Fetches(model.spec, mode_));
}

std::map<std::string, Tensor> InferenceModel::EvalMetricValues() {
  return ReadMetrics(*full_->metrics, full_->model.spec.eval_metric_ops);
}

Batch InferenceModel::Padded(const Batch& batch) const { return FilledUp(batch, batch_size_); }

}  // namespace tpuest
