#include "core/estimator/step/train_step.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/estimator/step/distributions.h"
#include "core/estimator/step/input_partition.h"
#include "core/estimator/step/weight_summaries.h"

namespace tpuest {

CompileOptions CompileOptionsOf(const EstimatorContext& context) {
  return {.replicas = context.ReplicasIn(Mode::kTrain),
          .partitions = context.CoresIn(Mode::kTrain),
          .threads = context.threads,
          .seed = context.seed.value_or(0),
          .seeds_by_name = context.seeds_by_name,
          .steps_per_call = StepsPerCall(*context.options.run_config.tpu_config.loop),
          .device = context.home.device_options,
          .collective = context.collective.get()};
}

namespace {

// Options for work that the chief does without the other processes.
CompileOptions Alone(CompileOptions options) {
  options.collective = nullptr;
  return options;
}

// The input shapes of a whole batch, of which this process has some rows.
std::vector<Shape> ShapesOfWhole(const std::vector<Tensor>& inputs, int64_t rows) {
  std::vector<Shape> shapes = ShapesOf(inputs);
  for (Shape& shape : shapes) shape.set_dim(0, rows);
  return shapes;
}

[[noreturn]] void ThrowNoWeights() {
  throw Error(Code::kUsage,
              "the model does not distinguish examples from padding rows: its loss does not use "
              "example_weight",
              "choose a train_batch_size that divides evenly over the replicas")
      .Key("tpuest.uneven_batches");
}

[[noreturn]] void ThrowShortBatch(int64_t rows, int64_t batch_size) {
  throw Error(Code::kUsage,
              fmt::format("The features to the model returned by input_fn must have static shape. "
                          "Tensor: a batch of {} examples, expected {}",
                          rows, batch_size),
              "set drop_remainder: true in the input_fn to drop a short last batch")
      .Key("train_spec.input_fn");
}

}  // namespace

std::shared_ptr<const BuiltModel> BuildTrainModel(const EstimatorContext& context,
                                                  const StreamSpec& stream, int64_t rows,
                                                  bool with_scaffold) {
  const int replicas = context.ReplicasIn(Mode::kTrain);
  Log& log = context.home.log;
  log.Info("Calling model_fn.");
  if (!context.options.use_tpu) log.Info("Running train on CPU/GPU");
  auto model = std::make_shared<const BuiltModel>(
      BuildModel(context.model_fn, context.home.registry,
                 {.mode = Mode::kTrain,
                  .stream = stream,
                  .rows = context.RowsOfReplica(Mode::kTrain, rows, replicas),
                  .with_example_weight = context.FillsUp(Mode::kTrain),
                  .with_scaffold = with_scaffold,
                  .params = context.ParamsFor(Mode::kTrain, rows, replicas)}));
  log.Info("Done calling model_fn.");
  if (model->has_example_weight && !model->uses_example_weight) ThrowNoWeights();
  return model;
}

struct TrainStep::Sized {
  // The indices of the spec's values among the programs' fetches.
  struct Places {
    size_t loss = 0;
    std::optional<size_t> learning_rate;
    // nullopt if the summary is not fetched, because it reads only variables.
    std::vector<std::optional<size_t>> summaries;
    std::vector<size_t> host_call;  // its tensors, ordered by name
  };
  struct Fetches {
    std::vector<Value> values;
    Places places;
  };
  static Fetches FetchesOf(const TPUEstimatorSpec& spec, const WeightSummaries& weights);

  Sized(const TrainStep& step, std::shared_ptr<const BuiltModel> of)
      : model(std::move(of)),
        weights(step.context_.home.backend, step.variables_, *model),
        distributions(step.context_.home.backends_alone(), step.variables_, *model,
                      Alone(step.options_), step.broadcast_),
        fetches(FetchesOf(model->spec, weights)),
        args({.graph = *model->graph,
              .inputs = model->inputs,
              .shapes = {},
              .fetches = fetches.values,
              .broadcast = step.broadcast_,
              .targets = {model->spec.train_op},
              .guard = model->spec.loss,
              .options = step.options_,
              .partitions = PartitionsOf(step.context_, Mode::kTrain, step.stream_, *model)}),
        programs(step.context_.home.backends(), step.variables_, args) {}

  const std::shared_ptr<const BuiltModel> model;
  WeightSummaries weights;
  Distributions distributions;
  const Fetches fetches;
  const StepProgramArgs args;
  StepPrograms programs;
};

TrainStep::Sized::Fetches TrainStep::Sized::FetchesOf(const TPUEstimatorSpec& spec,
                                                      const WeightSummaries& weights) {
  Fetches fetches;
  const auto add = [&](Value value) {
    fetches.values.push_back(value);
    return fetches.values.size() - 1;
  };
  Places& places = fetches.places;
  places.loss = add(spec.loss);
  if (spec.learning_rate.valid()) places.learning_rate = add(spec.learning_rate);
  for (const auto& [tag, value] : spec.summaries) {
    const bool is_of_weights = weights.among()[places.summaries.size()];
    places.summaries.push_back(is_of_weights ? std::nullopt : std::optional(add(value)));
  }
  if (spec.host_call) {
    for (const auto& [name, value] : spec.host_call->tensors)
      places.host_call.push_back(add(value));
  }
  return fetches;
}

TrainStep::TrainStep(const TrainStepArgs& args)
    : context_(args.context),
      variables_(args.variables),
      stream_(args.stream),
      batch_size_(context_.BatchSize(Mode::kTrain)),
      options_(CompileOptionsOf(context_)),
      broadcast_(options_.replicas > 1 && context_.BroadcastsIn(Mode::kTrain)),
      full_(*(sized_[batch_size_] = std::make_unique<Sized>(*this, args.model))) {}

TrainStep::~TrainStep() = default;

const BuiltModel& TrainStep::model() const { return *full_.model; }

bool TrainStep::has_rare_summaries() const {
  return !full_.weights.empty() || !full_.distributions.empty();
}

bool TrainStep::reads_whole_batches() const {
  const std::optional<HostCall>& call = model().spec.host_call;
  return (call && !call->tensors.empty()) || !full_.distributions.empty();
}

std::vector<Shape> TrainStep::ShapesOf(const Batch& batch) const {
  return ShapesOfWhole(InputsOf(model(), batch), RowsOf(batch));
}

TrainStep::Sized& TrainStep::SizedFor(int64_t rows) {
  std::unique_ptr<Sized>& sized = sized_[rows];
  if (sized == nullptr) {
    sized = std::make_unique<Sized>(*this, BuildTrainModel(context_, stream_, rows, false));
  }
  return *sized;
}

std::shared_ptr<const StepProgram> TrainStep::ProgramFor(const std::vector<Shape>& shapes) {
  return SizedFor(shapes.front().dim(0)).programs.For(shapes);
}

std::shared_ptr<StepProgram> TrainStep::Traced(const Sized& sized, const std::vector<Shape>& shapes,
                                               StepTrace* trace) {
  if (traced_.trace == trace && traced_.shapes == shapes) return traced_.program;
  StepProgramArgs args = sized.args;
  args.shapes = shapes;
  args.options.trace = trace;
  traced_ = {trace, shapes,
             std::make_shared<StepProgram>(context_.home.backends(), variables_, args)};
  return traced_.program;
}

StepFeeds TrainStep::Prepare(const Batch& batch) {
  const int64_t rows = RowsOf(batch);
  if (rows != batch_size_) {
    if (context_.options.use_tpu) ThrowShortBatch(rows, context_.InputBatchSize(Mode::kTrain));
    return {};
  }
  const std::vector<Tensor> inputs = InputsOf(model(), batch);
  const std::shared_ptr<StepProgram> program = full_.programs.Find(ShapesOfWhole(inputs, rows));
  return program == nullptr ? StepFeeds() : program->Prepare(inputs);
}

StepsMade TrainStep::Run(std::span<InfeedItem> items, const How& how) {
  const Batch& first = items.front().batch;
  Sized& sized = SizedFor(RowsOf(first));
  const std::vector<Shape> shapes = ShapesOf(first);
  const Clock& clock = context_.home.clock;
  const bool traces_kernels = how.trace != nullptr && context_.home.device == nullptr;
  StepsMade made(sized,
                 traces_kernels ? Traced(sized, shapes, how.trace) : sized.programs.For(shapes));
  const double begin = clock.Seconds();
  for (InfeedItem& item : items) {
    if (!SameShapes(item.batch, first)) break;
    if (item.feeds.empty()) item.feeds = made.program_->Prepare(InputsOf(*sized.model, item.batch));
    made.feeds_.push_back(std::move(item.feeds));
  }
  if (how.with_rare_summaries) {
    made.weights_ = sized.weights.Compute();
    if (!sized.distributions.empty()) made.distributions_ = sized.distributions.Compute(first);
  }
  if (how.begins) how.begins();
  made.begin_ = clock.Seconds();
  made.results_ = made.program_->RunDevice(made.feeds_);
  const double end = clock.Seconds();
  made.seconds_ = end - made.begin_;
  if (how.trace != nullptr && how.trace->events().empty()) {
    how.trace->Add({"step", "session.run", 0, begin, end});
  }
  return made;
}

double StepsMade::EndOf(size_t step) const {
  return begin_ + seconds_ * static_cast<double>(step + 1) / static_cast<double>(size());
}

std::optional<int64_t> StepsMade::steps_per_call() const { return program_->steps_per_call(); }

StepValues StepsMade::Values(size_t step) const {
  constexpr float kNotComputed = std::numeric_limits<float>::quiet_NaN();
  const StepResult& result = results_[step];
  const auto mean = [&](size_t fetch) {
    return ReplicaMean(result.fetches[program_->DeviceIndex(fetch)]);
  };
  const TrainStep::Sized::Places& places = of_.fetches.places;
  StepValues values{.loss = mean(places.loss)};
  values.diverged = !result.applied || !std::isfinite(values.loss);
  if (values.diverged) {
    if (std::isfinite(values.loss)) values.not_finite = result.not_finite;
    return values;
  }
  if (places.learning_rate) values.learning_rate = mean(*places.learning_rate);
  const bool has_weights = step == 0 && !weights_.empty();
  size_t weight = 0;
  for (const std::optional<size_t>& fetch : places.summaries) {
    values.summaries.push_back(fetch         ? mean(*fetch)
                               : has_weights ? weights_[weight++]
                                             : kNotComputed);
  }
  return values;
}

const HostCall* StepsMade::host_call() const {
  const std::optional<HostCall>& call = of_.model->spec.host_call;
  return call && !call->tensors.empty() ? &*call : nullptr;
}

std::vector<Tensor> StepsMade::HostCallTensors(size_t step) const {
  return program_->Finish(feeds_[step], results_[step], of_.fetches.places.host_call);
}

}  // namespace tpuest
