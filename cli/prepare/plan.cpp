// tpuest plan JOB.yaml: what training would do, without doing it

#include <algorithm>
#include <cstdio>
#include <new>
#include <variant>

#include "cli/host/cpu_features.h"
#include "cli/job/device.h"
#include "cli/job/job.h"
#include "cli/prepare/commands.h"
#include "cli/prepare/plan_compile.h"
#include "cli/prepare/plan_report.h"
#include "cli/run/process.h"
#include "cli/run/session.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/console.h"
#include "cli/shell/json.h"
#include "core/backend/cpu/program.h"
#include "core/base/process/files.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/contract/filled_up.h"
#include "core/estimator/step/programs/step_program.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"

namespace tpuest::cli {
namespace {

struct PlanInvocation : Invocation {
  std::optional<std::string> compile;   // --compile: a topology
  std::optional<std::string> dump_hlo;  // --dump-hlo: a file
};

void Declare(FlagSet& flags, PlanInvocation& to) {
  flags.Text("--compile", to.compile, "TOPOLOGY",
             "compile the training step for a TPU topology without having one, such as v5e:2x2");
  flags.Text("--dump-hlo", to.dump_hlo, "FILE", "write the training step as StableHLO");
  DeclareGroup(flags);
}

struct TrainInput {
  StreamSpec spec;
  std::optional<int64_t> epoch_size;
};

// Opens the source only if the model's shapes are otherwise unknown.
TrainInput TrainInputOf(const Job& job) {
  const std::string& name = job.train_spec->input_fn;
  const data::InputFnOptions& options = job.input_fns.at(name);
  if (auto known = data::KnownSpec(options, name))
    return {*std::move(known), data::KnownSize(options, name)};
  const auto stream = data::MakeInputFn(options, name)({.mode = Mode::kTrain});
  return {stream->spec(), stream->epoch_size()};
}

// Returns the number of steps in the rest of the input; nullopt if endless or unknown.
std::optional<int64_t> StepsOfInput(const data::InputFnOptions& options,
                                    const std::optional<int64_t>& epoch_size,
                                    const PlannedRun& run) {
  const int64_t repeat = options.repeat.value_or(-1);
  if (repeat < 0 || !epoch_size) return std::nullopt;
  const int64_t used = run.position.epoch * *epoch_size + run.position.records;
  const int64_t rest = std::max<int64_t>(repeat * *epoch_size - used, 0);
  const bool whole_batches = options.drop_remainder.value_or(true);
  return whole_batches ? rest / run.batch_size : (rest + run.batch_size - 1) / run.batch_size;
}

// The memory of a step is not measured beyond this many bytes of variables, because measuring
// creates them.
constexpr int64_t kMostVariableBytes = int64_t{1} << 30;

std::optional<int64_t> CpuBytes(const PlanArgs& args, const PlannedRun& run, int64_t bytes) {
  const std::vector<Shape> shapes = InputShapes(run);
  if (shapes.empty() || bytes > kMostVariableBytes) return std::nullopt;
  try {
    const MemoryUse use = CompileStep(args, run, shapes);
    return static_cast<int64_t>(use.constants + use.global + use.replicas + use.blocks + use.parts);
  } catch (const std::bad_alloc&) {
    return std::nullopt;  // another machine may have it
  }
}

// Returns the shapes of the first batch, if the job does not determine them.
std::vector<Shape> ShapesOfFirstBatch(const Job& job, const PlannedRun& run) {
  const std::string& name = job.train_spec->input_fn;
  const bool is_given = run.model->has_example_weight && job.estimator.train_batch_size;
  const int64_t rows = is_given ? *job.estimator.train_batch_size : run.batch_size;
  const auto stream =
      data::MakeInputFn(job.input_fns.at(name), name)({.mode = Mode::kTrain, .batch_size = rows});
  const std::optional<Batch> batch = stream->Next();
  if (!batch || RowsOf(*batch) != rows) {
    throw Error(Code::kData,
                "the input has fewer records than one batch, which is needed to find the lengths "
                "of its lists",
                fmt::format("train_batch_size is {}", rows))
        .Key("train_spec.input_fn");
  }
  const bool fills_up = run.model->has_example_weight;
  return ShapesOf(InputsOf(*run.model, fills_up ? FilledUp(*batch, run.batch_size) : *batch));
}

// Lowers the training step to a module.
LoweredModule Lower(const Job& job, PlanArgs args, const PlannedRun& run) {
  HloBackend backend;
  EstimatorHome home = args.home;
  home.device = &backend;
  home.device_options = DeviceOptionsOf(job.tpuest);
  std::vector<Shape> shapes = InputShapes(run);
  if (shapes.empty()) shapes = ShapesOfFirstBatch(job, run);
  CompileStep({args.model_fn, args.options, args.stream, args.length, home}, run, shapes);
  return backend.module();
}

int64_t BytesIn(const Shape& shape, DType dtype) {
  return shape.elements() * static_cast<int64_t>(SizeOf(dtype));
}

// Reports how the cores of a replica share its inputs, and the bytes of inputs and layers' results
// per core; the results are split like the inputs if any input is split.
void TellCores(const PlannedRun& run, PlanReport& report) {
  report.cores = run.cores;
  if (run.cores == 1) return;
  int64_t bytes = 0;
  bool is_known = true;
  const auto rows = [&](Shape shape) {
    if (shape.rank() > 0 && shape.dim(0) == kUnknownDim) shape.set_dim(0, run.share());
    is_known = is_known && shape.fully_known();
    return shape;
  };
  for (size_t i = 0; i < run.model->inputs.size(); ++i) {
    const Value& input = run.model->inputs[i];
    const Shape shape = rows(input.shape());
    if (!is_known) break;
    const Partition& dims = run.partitions[i];
    const std::string name = input.node->name().substr(input.node->name().find('/') + 1);
    if (input.dtype() != DType::kString)
      bytes += BytesIn(FirstPartShape(shape, dims), input.dtype());
    if (dims.empty()) continue;
    SharedInput shared{.name = name, .shape = shape, .dims = dims, .pieces = {}};
    for (int core = 0; core < run.cores; ++core) {
      shared.pieces.push_back(PartShape(shape, dims, core));
    }
    report.shared.push_back(std::move(shared));
  }
  const int64_t parts = report.shared.empty() ? 1 : run.cores;
  for (const GraphLayer& layer : run.model->graph->layers()) {
    const Shape shape = rows(layer.output.shape());
    if (!is_known) break;
    bytes += (BytesIn(shape, layer.output.dtype()) + parts - 1) / parts;
  }
  if (is_known) report.core_bytes = bytes;
}

// Returns true if a source's files must be decompressed from their beginning.
bool IsCompressed(const data::SourceOptions& source) {
  return std::visit(
      [](const auto& options) {
        if constexpr (requires { options.compression_type.value_or(""); }) {
          return !options.compression_type.value_or("").empty();
        } else if constexpr (requires { options.compression_type.empty(); }) {
          return !options.compression_type.empty();
        } else if constexpr (requires { options.images.ends_with(".gz"); }) {
          return options.images.ends_with(".gz");
        } else {
          return false;
        }
      },
      source);
}

std::optional<RowRules> RulesOfRows(const Job& job) {
  const EmbeddingsOptions& options = job.tpuest.embeddings;
  if (!options.counts_rows()) return std::nullopt;
  return RowRules{.admit_after = options.admit_after,
                  .evict_after_steps = options.evict_after_steps,
                  .decides_every = job.estimator.run_config.save_checkpoints_steps.value_or(1)};
}

PlanReport Report(const Job& job, const std::string& file, const TrainInput& input,
                  const PlannedRun& run) {
  PlanReport report{.job = job.name ? fmt::format("{}: {}", file, *job.name) : file,
                    .model_dir = job.estimator.run_config.model_dir,
                    .checkpoint = run.checkpoint,
                    .start = run.start,
                    .goal = run.goal.step,
                    .goal_reason = run.goal.reason,
                    .epoch_size = input.epoch_size,
                    .batch_size = run.batch_size,
                    .batch_per_replica = run.share(),
                    .replicas = run.replicas,
                    .model = CostOf(*run.model, KeepingOf(job.tpuest.embeddings)),
                    .most_of_tables = job.tpuest.embeddings.max_resident_bytes,
                    .row_rules = RulesOfRows(job),
                    .warm_start = run.warm_start,
                    .process = ThisProcess(ReadTfConfig(RulesOf(job)))};
  if (job.estimator.use_tpu) {
    report.iterations_per_loop = job.estimator.run_config.tpu_config.iterations_per_loop;
  }
  const hosts::ProcessPlace& process = report.process;
  const bool spreads = job.estimator.use_tpu || job.estimator.run_config.train_distribute;
  if (spreads && process.is_one_of_several() && process.role.empty()) {
    report.share = hosts::ShareOf(run.replicas, static_cast<int>(process.size),
                                  static_cast<int>(process.rank));
    report.reads_all = IsCompressed(job.input_fns.at(job.train_spec->input_fn).source);
  }
  TellCores(run, report);
  report.steps = run.steps();
  if (!run.warm_start.empty()) report.warm_start_from = PathOf(*job.estimator.warm_start_from);
  const auto of_input =
      StepsOfInput(job.input_fns.at(job.train_spec->input_fn), input.epoch_size, run);
  if (of_input && (!report.steps || *of_input < *report.steps)) {
    report.steps = of_input;
    report.goal = run.start + *of_input;
    report.goal_reason = "end of input";
  }
  return report;
}

// A planned job: its report, and the report of its step on a topology.
struct Planned {
  PlanReport plan;
  std::optional<CompileReport> compile;
};

std::unique_ptr<PjrtTopology> TopologyOf(const PlanInvocation& invocation) {
  if (!invocation.compile) return nullptr;
  return OpenTopology(FindPjrtPlugin("tpu"), *invocation.compile,
                      invocation.verbose ? PjrtLogging::kLoud : PjrtLogging::kQuiet);
}

// Returns the options with as many replicas as the topology's cores allow, regardless of
// num_shards.
EstimatorOptions OptionsFor(const EstimatorOptions& options, const PjrtTopology* topology,
                            Log& console) {
  EstimatorOptions result = options;
  if (topology == nullptr || !options.use_tpu) return result;
  std::optional<int>& shards = result.run_config.tpu_config.num_shards;
  const TopologyInfo& info = topology->info();
  const int cores = result.run_config.tpu_config.CoresOfReplica();
  if (cores > info.cores) {
    throw Error(
        Code::kUsage,
        fmt::format("{} has {} cores, but a replica needs {}", info.name, info.cores, cores),
        fmt::format("tpu_config.num_cores_per_replica={}, or a larger topology", info.cores))
        .Key("run_config.tpu_config.num_cores_per_replica");
  }
  const int replicas = info.cores / cores;
  if (shards && *shards != replicas) {
    console.Warning(
        "num_shards is {} in the job, but {} has {} cores; the plan has one replica on each{}",
        *shards, info.name, info.cores, cores == 1 ? "" : fmt::format(" {}: {}", cores, replicas));
  }
  shards = replicas;
  return result;
}

// Returns CpuBytes without recomputation; nullopt if the job recomputes nothing.
std::optional<int64_t> KeepingBytes(const Job& job, const PlanArgs& args, int64_t bytes) {
  if (job.tpuest.remat.empty()) return std::nullopt;
  const ModelFn model_fn = MakeKeepingModelFnForShapes(job);
  const PlanArgs keeping{.model_fn = model_fn,
                         .options = args.options,
                         .stream = args.stream,
                         .length = args.length,
                         .home = args.home};
  return CpuBytes(keeping, PlanTraining(keeping), bytes);
}

Planned PlanJob(const PlanInvocation& invocation, const LoadedJob& loaded, Log& console) {
  const Job& job = loaded.job;
  // Has no sinks, because the report has what a run logs at its start.
  Log log;
  log.AddSink([&](LogLevel level, std::string_view line) {
    if (level >= LogLevel::kWarning) console.Write(level, line);
  });
  if (!job.train_spec) {
    throw Error(Code::kUsage, "plan needs a train_spec",
                "train_spec: {input_fn: train, max_steps: 1000}");
  }
  const std::unique_ptr<PjrtTopology> topology = TopologyOf(invocation);
  ChooseCpuIsa(job, topology == nullptr);
  const EstimatorOptions options = OptionsFor(job.estimator, topology.get(), console);
  const OpRegistry registry(ops::AllOps());
  const std::unique_ptr<Backend> backend = MakeCpuBackend();
  const SystemClock clock;
  const StopSignal never;
  const TrainInput input = TrainInputOf(job);
  const ModelFn model_fn = MakeModelFnForShapes(job);
  const PlanArgs args{.model_fn = model_fn,
                      .options = options,
                      .stream = input.spec,
                      .length = job.train_spec->length(),
                      .home = {registry, *backend, log, clock, never}};
  const PlannedRun run = PlanTraining(args);
  Planned planned{Report(job, loaded.tree.root.place.file, input, run), std::nullopt};
  if (topology == nullptr) planned.plan.kernels = KernelsText();
  if (topology == nullptr) {
    planned.plan.cpu_bytes = CpuBytes(args, run, planned.plan.model.bytes);
    planned.plan.keeping_bytes = KeepingBytes(job, args, planned.plan.model.bytes);
  }
  if (topology == nullptr && !invocation.dump_hlo) return planned;
  const LoweredModule module = Lower(job, args, run);
  if (invocation.dump_hlo && !invocation.dry_run) {
    WriteFileAtomically(*invocation.dump_hlo, module.text, /*fsync=*/false);
  }
  if (topology != nullptr) {
    planned.compile = CompileFor(*topology, module, run);
  }
  return planned;
}

void Print(const PlanInvocation& invocation, const Planned& planned) {
  if (!invocation.json) {
    std::string text = PlanText(planned.plan);
    if (planned.compile) text += CompileText(*planned.compile);
    (void)WriteStdout(text);
    return;
  }
  Json json = JsonOfPlan(planned.plan);
  if (planned.compile) json["compile"] = JsonOfCompile(*planned.compile);
  PrintDocument("plan", json);
}

int RunPlan(const PlanInvocation& invocation, config::Sources& sources) {
  const SystemClock clock;
  Console console(invocation, clock);
  LoadedJob loaded = LoadInvocationJob(invocation, sources);
  const hosts::ProcessPlace place = ThisProcess(ReadTfConfig(RulesOf(loaded.job)));
  if (place.role.empty()) SpreadReplicas(place, loaded.job.estimator.run_config);
  const std::vector<EpochCount> counts = ResolveStepCounts(loaded.job);
  Planned planned = PlanJob(invocation, loaded, console.log());
  planned.plan.counts = counts;
  Print(invocation, planned);
  if (!planned.compile || planned.compile->fits()) return 0;
  // The document has already reported it.
  const Error error =
      ShortageError(planned.compile->topology.name, *planned.compile->size.shortage);
  const std::string text = config::Render(error.faults(), sources);
  std::fwrite(text.data(), 1, text.size(), stderr);
  return static_cast<int>(error.code());
}

}  // namespace

Command PlanCommand() {
  return MakeCommand<PlanInvocation>(
      {.name = "plan",
       .summary = "show what training a job takes: steps, shapes, parameters, FLOPs",
       .examples = {"tpuest plan job.yaml", "tpuest plan job.yaml --compile v5e:2x2"}},
      Declare, RunPlan);
}

}  // namespace tpuest::cli
