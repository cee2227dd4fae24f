#include "core/estimator/planned_run.h"

#include <algorithm>

#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/saved/saved_state.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/step/batch_axis.h"
#include "core/estimator/step/input_partition.h"
#include "core/estimator/step/train_step.h"
#include "core/nn/global_step.h"

namespace tpuest {
namespace {

// A plan reports when a limit would be exceeded, and is not itself subject to it.
RowKeeping KeepingOfPlan(const PlanArgs& args) {
  EmbeddingsOptions options = args.options.embeddings;
  options.max_resident_bytes.reset();
  return KeepingOf(options);
}

int64_t GlobalStepIn(VariableStore& variables) {
  const std::string name(nn::kGlobalStepName);
  return variables.Has(name) ? *variables.Get(name).data<int64_t>() : 0;
}

}  // namespace

std::optional<int64_t> PlannedRun::steps() const {
  if (!goal.step) return std::nullopt;
  return std::max<int64_t>(*goal.step - start, 0);
}

EstimatorContext ContextOf(const PlanArgs& args) {
  return {.model_fn =
              WithBatchAxis(WithInputPartition(args.model_fn, args.options.run_config.tpu_config),
                            args.options.batch_axis),
          .options = args.options,
          .home = args.home,
          .model_dir = {},
          .threads = ThreadsOf(args.options.run_config)};
}

PlannedRun PlanTraining(const PlanArgs& args) {
  ThrowFaults(Validate(args.length, args.options.use_tpu));
  const EstimatorContext context = ContextOf(args);
  PlannedRun run{
      .batch_size = context.BatchSize(Mode::kTrain),
      .replicas = context.ReplicasIn(Mode::kTrain),
      .cores = args.options.use_tpu ? args.options.run_config.tpu_config.CoresOfReplica() : 1,
      .broadcast = context.BroadcastsIn(Mode::kTrain)};
  run.model = BuildTrainModel(context, args.stream, run.batch_size, /*with_scaffold=*/false);
  run.partitions = PartitionsOf(context, Mode::kTrain, args.stream, *run.model);
  const Graph& graph = *run.model->graph;
  const std::optional<std::string>& model_dir = args.options.run_config.model_dir;
  std::optional<SavedState> newest;
  if (model_dir) newest = LoadNewest(*model_dir, args.home.log);
  VariableStore variables;
  variables.tables().KeepRows(KeepingOfPlan(args));
  if (newest) {
    run.checkpoint = newest->prefix;
    run.position = newest->resume.position;
    RestoreVariables(*newest, graph, variables, &args.home.log);
  } else if (args.options.warm_start_from) {
    (void)MakeTables(graph, 0, variables);
    run.warm_start = WarmStart(*args.options.warm_start_from, graph,
                               {.backend = args.home.backend,
                                .log = args.home.log,
                                .dealt_by_mod = args.options.embeddings.dealt_by_mod},
                               variables);
  }
  run.start = GlobalStepIn(variables);
  run.goal = GoalOf(args.length, run.start, newest ? newest->resume.goal : std::nullopt);
  return run;
}

std::vector<Shape> InputShapes(const PlannedRun& run) {
  std::vector<Shape> shapes;
  for (const Value& input : run.model->inputs) {
    shapes.push_back(input.shape());
    shapes.back().set_dim(0, run.batch_size);
    if (!shapes.back().fully_known()) return {};
  }
  return shapes;
}

MemoryUse CompileStep(const PlanArgs& args, const PlannedRun& run,
                      const std::vector<Shape>& shapes) {
  const EstimatorContext context = ContextOf(args);
  VariableStore variables;
  if (args.home.backends().device.keeps_rows()) {
    variables.tables().KeepRows(KeepingOfPlan(args));
    (void)MakeTables(*run.model->graph, 0, variables);
  }
  TrainStep step(
      {.context = context, .variables = variables, .stream = args.stream, .model = run.model});
  return step.ProgramFor(shapes)->memory();
}

}  // namespace tpuest
