// tpuest train-and-evaluate JOB.yaml

#include "core/estimator/train_and_evaluate.h"

#include "cli/job/eval_tasks.h"
#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/eval_report.h"
#include "cli/run/same_run.h"
#include "cli/run/session.h"
#include "cli/run/tf_config.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/json.h"
#include "core/base/heap.h"
#include "core/estimator/hooks/hook_factory.h"

namespace tpuest::cli {
namespace {

// The document's fields; without an evaluation metrics and exports are null.
Json Fields(const TrainAndEvaluateResult& result) {
  const TrainResult& train = result.train;
  Json metrics;
  Json exports;
  for (const auto& [label, evaluation] : result.evaluations) {
    metrics[label] = MetricsJson(evaluation);
    exports = Json::object();
  }
  for (const auto& [name, path] : result.exports) exports[name] = path;
  return {{"global_step", train.global_step},
          {"loss", train.loss ? JsonNumber(*train.loss) : Json()},
          {"metrics", metrics},
          {"exports", exports},
          {"stopped_because", train.stopped_because},
          {"path", train.checkpoint}};
}

void PrintResult(const TrainAndEvaluateResult& result) {
  const bool several = result.evaluations.size() > 1;
  for (const auto& [label, evaluation] : result.evaluations) {
    PrintMetrics(evaluation, several ? label + "/" : "");
  }
  for (const auto& [name, path] : result.exports) fmt::print("{}\n", path);
}

// The chief of a cluster trains alone: its evaluator is a process of its own. A master evaluates.
TrainAndEvaluateResult RunTask(Session& session) {
  const Job& job = session.job();
  const TrainSpec& spec = *job.train_spec;
  const JobHooks hooks = MakeHooks(HooksOf(job), spec.saving_listeners);
  const TrainHooks watched = hooks.With(session.recorder());
  const InputFn input_fn = session.TrainInput();
  const bool has_evaluator =
      !session.task().cluster.empty() && session.task().task_type != "master";
  if (has_evaluator)
    return {.train = session.estimator().Train(input_fn, session.Length(), watched)};
  return session.estimator().TrainAndEvaluate(input_fn, session.Length(), watched,
                                              EvalTasksOf(job, "train-and-evaluate"));
}

}  // namespace

int TrainAndEvaluate(const Invocation& invocation, config::Sources& sources) {
  ShareHeap();
  if (IsEvaluatorTask()) return Follow(InvocationWith<EvaluateInvocation>(invocation), sources);
  Session session(invocation, sources);
  if (session.is_worker()) return session.FollowChief();
  return session.Run([&] {
    if (!session.job().train_spec) {
      throw Error(Code::kUsage, "train-and-evaluate needs a train_spec",
                  "train_spec: {input_fn: train, max_steps: 1000}");
    }
    CheckResume(session.job(), session.estimator().model_dir());
    CheckSameRun(session.job(), session.estimator().model_dir());
    const TrainAndEvaluateResult result = RunTask(session);
    if (result.train.stopped_because == kAlreadyDone) {
      CheckFinishedRun(session.job(), session.estimator().model_dir());
    }
    TellEnd(session.log(), result.train);
    session.console().Clear();
    if (invocation.json) {
      PrintDocument("train-and-evaluate", Fields(result));
    } else {
      PrintResult(result);
    }
    return result.train.exit_code;
  });
}

Command TrainAndEvaluateCommand() {
  return MakeCommand<Invocation>(
      {.name = "train-and-evaluate",
       .summary = "train a job, and evaluate and export after every checkpoint",
       .examples = {"tpuest train-and-evaluate job.yaml",
                    "tpuest train-and-evaluate job.yaml max_steps=2000 --model-dir runs/long"}},
      DeclareTraining, TrainAndEvaluate);
}

}  // namespace tpuest::cli
