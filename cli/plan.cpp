// tpuest plan JOB.yaml: what training would do, without doing it

#include <algorithm>
#include <new>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/plan_report.h"
#include "cli/session.h"
#include "core/ops/all_ops.h"
#include "data/input_fn.h"

namespace tpuest::cli {
namespace {

// Shapes do not depend on the length of an epoch, only the rates of schedules do.
constexpr double kAnyStepsPerEpoch = 1;

struct TrainInput {
  StreamSpec spec;
  std::optional<int64_t> epoch_size;
};

// Opens the source only where the model's shapes cannot be told without it.
TrainInput TrainInputOf(const Job& job) {
  const std::string& name = job.train_spec->input_fn;
  const InputFnOptions& options = job.input_fns.at(name);
  if (auto known = KnownSpec(options, name)) return {*std::move(known), KnownSize(options, name)};
  const auto stream = MakeInputFn(options, name)({.mode = Mode::kTrain});
  return {stream->spec(), stream->epoch_size()};
}

// Steps that the rest of the input is good for, nullopt: endless or not known.
std::optional<int64_t> StepsOfInput(const InputFnOptions& options,
                                    const std::optional<int64_t>& epoch_size,
                                    const PlannedRun& run) {
  const int64_t repeat = options.repeat.value_or(-1);
  if (repeat < 0 || !epoch_size) return std::nullopt;
  const int64_t used = run.position.epoch * *epoch_size + run.position.records;
  const int64_t rest = std::max<int64_t>(repeat * *epoch_size - used, 0);
  const bool whole_batches = options.drop_remainder.value_or(true);
  return whole_batches ? rest / run.batch_size : (rest + run.batch_size - 1) / run.batch_size;
}

// Beyond so much of variables the memory of a step is not tried out, because that makes them.
constexpr int64_t kMostVariableBytes = int64_t{1} << 30;

std::optional<int64_t> CpuBytes(const PlanArgs& args, const PlannedRun& run, int64_t bytes) {
  if (bytes > kMostVariableBytes) return std::nullopt;
  try {
    const std::optional<MemoryUse> use = CompileStep(args, run);
    if (!use) return std::nullopt;
    return static_cast<int64_t>(use->constants + use->global + use->replicas + use->blocks +
                                use->parts);
  } catch (const std::bad_alloc&) {
    return std::nullopt;  // another machine may have it
  }
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
                    .replicas = run.replicas,
                    .iterations_per_loop = job.estimator.run_config.tpu_config.iterations_per_loop,
                    .model = CostOf(run.model),
                    .warm_start = run.warm_start};
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

PlanReport PlanJob(const LoadedJob& loaded, Log& console) {
  const Job& job = loaded.job;
  // What else a run says of its start is in the report.
  Log log;
  log.AddSink([&](Level level, std::string_view line) {
    if (level >= Level::kWarning) console.Write(level, line);
  });
  if (!job.train_spec) {
    throw Error(Code::kUsage, "plan needs a train_spec",
                "train_spec: {input_fn: train, max_steps: 1000}");
  }
  const OpRegistry registry(ops::AllOps());
  const std::unique_ptr<Backend> backend = MakeCpuBackend();
  const SystemClock clock;
  const StopSignal never;
  const TrainInput input = TrainInputOf(job);
  const ModelFn model_fn =
      models::MakeModelFn(job.model, {job.optimizer, kAnyStepsPerEpoch, job.feature_columns});
  const PlanArgs args{.model_fn = model_fn,
                      .options = job.estimator,
                      .stream = input.spec,
                      .length = job.train_spec->length(),
                      .home = {registry, *backend, log, clock, never}};
  const PlannedRun run = PlanTraining(args);
  PlanReport report = Report(job, loaded.tree.root.place.file, input, run);
  report.cpu_bytes = CpuBytes(args, run, report.model.bytes);
  return report;
}

}  // namespace

int PlanCommand(const Invocation& invocation) {
  return Guarded(invocation, [&](config::Sources& sources) {
    const SystemClock clock;
    Console console(invocation, clock);
    const LoadedJob loaded = LoadInvocationJob(invocation, sources);
    try {
      const PlanReport report = PlanJob(loaded, console.log());
      if (invocation.json) {
        PrintDocument("plan", JsonOfPlan(report));
      } else {
        (void)WriteStdout(PlanText(report));
      }
    } catch (const Error& error) {
      std::vector<Fault> faults = error.faults();
      config::Locate(loaded.tree, faults);
      throw Error(error.code(), std::move(faults));
    }
    return 0;
  });
}

}  // namespace tpuest::cli
