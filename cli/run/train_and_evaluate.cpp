// tpuest train-and-evaluate JOB.yaml [--folds N]

#include "core/estimator/train_and_evaluate.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/job/eval_tasks.h"
#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/eval_report.h"
#include "cli/run/open_loss.h"
#include "cli/run/process.h"
#include "cli/run/record/folds.h"
#include "cli/run/same_run.h"
#include "cli/run/session.h"
#include "cli/run/tf_config.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/json.h"
#include "core/base/process/heap.h"
#include "core/estimator/hooks/hook_factory.h"

namespace tpuest::cli {
namespace {

// Returns the document's fields; metrics and exports are null without an evaluation.
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

void PrintResult(const Job& job, const TrainAndEvaluateResult& result) {
  const bool several = result.evaluations.size() > 1;
  for (const auto& [label, evaluation] : result.evaluations) {
    PrintMetrics(evaluation, several ? label + "/" : "", ClassNamesOf(job));
  }
  for (const auto& [name, path] : result.exports) fmt::print("{}\n", path);
}

// The folder is what distinguishes the events and log lines of evaluations.
void CheckFolders(const Job& job) {
  for (const AnyHook& hook : job.train_spec->hooks) {
    const auto* const evaluator = std::get_if<InMemoryEvaluatorHookOptions>(&hook);
    if (evaluator == nullptr) continue;
    for (const NamedEvalSpec& named : EvalSpecsOf(job)) {
      if (named.name != evaluator->name.value_or("")) continue;
      throw Error(Code::kUsage,
                  fmt::format("the InMemoryEvaluatorHook and {} write events to {}/", named.key,
                              EvalFolderName(named.name)),
                  "give the hook a name of its own")
          .Key("train_spec.hooks");
    }
  }
}

// The chief of a cluster only trains: a separate process evaluates. A master also evaluates.
TrainAndEvaluateResult RunTask(Session& session) {
  const Job& job = session.job();
  const JobHooks hooks = session.MakeTrainHooks();
  const TrainHooks watched = hooks.With(session.recorder());
  const InputFn input_fn = session.TrainInput();
  const bool has_evaluator =
      !session.task().cluster.empty() && session.task().task_type != "master";
  if (has_evaluator)
    return {.train = session.estimator().Train(input_fn, session.Length(), watched)};
  return session.estimator().TrainAndEvaluate(input_fn, session.Length(), watched,
                                              EvalTasksOf(job, "train-and-evaluate"));
}

// The result of a session's run.
struct Outcome {
  std::string model_dir;
  TrainAndEvaluateResult result;
};

// Runs the session's job and gives its outcome to `report`.
int RunSession(Session& session, const std::function<void(const Outcome&)>& report) {
  return session.Run([&] {
    if (!session.job().train_spec) {
      throw Error(Code::kUsage, "train-and-evaluate needs a train_spec",
                  "train_spec: {input_fn: train, max_steps: 1000}");
    }
    session.BringBackRun();
    CheckResume(session.job(), session.estimator().model_dir());
    CheckSameRun(session.job(), session.estimator().model_dir());
    CheckFolders(session.job());
    const TrainAndEvaluateResult result = RunTask(session);
    if (result.train.stopped_because == kAlreadyDone) {
      CheckFinishedRun(session.job(), session.estimator().model_dir());
    }
    TellEnd(session.log(), result.train, session.estimator().model_dir(), false);
    session.console().Clear();
    report({session.estimator().model_dir(), result});
    return result.train.exit_code;
  });
}

struct FoldsInvocation : Invocation {
  std::optional<int64_t> folds;
};

void DeclareFolds(FlagSet& flags, FoldsInvocation& to) {
  DeclareTraining(flags, to);
  flags.Integer(
      "--folds", to.folds, 2,
      "cross-validation: train every fold, one after the other, and print the mean of each metric");
}

void CheckFolds(const FoldsInvocation& invocation) {
  if (invocation.fold) {
    throw Error(
        Code::kUsage,
        "--fold and --folds exclude each other: --fold trains one fold, --folds all of them",
        fmt::format("--folds {}", *invocation.folds));
  }
  if (TrainsInGroup(ThisProcess(TfConfig{}), invocation)) {
    throw Error(Code::kUsage, "--folds trains in one process, but this process is one of several",
                "--fold I/N trains one fold in all processes");
  }
}

// Each fold is a separate run; a fold that has all its steps is only evaluated.
int RunFolds(const FoldsInvocation& invocation, config::Sources& sources) {
  CheckFolds(invocation);
  std::vector<std::string> folders;
  for (int64_t fold = 1; fold <= *invocation.folds; ++fold) {
    Invocation of_fold = invocation;
    of_fold.fold = fmt::format("{}/{}", fold, *invocation.folds);
    Session session(of_fold, sources);
    session.log().Info("fold {} of {}", fold, *invocation.folds);
    const int exit_code =
        RunSession(session, [&](const Outcome& outcome) { folders.push_back(outcome.model_dir); });
    if (exit_code != 0) return exit_code;
  }
  if (invocation.dry_run) return 0;
  std::vector<ComparedRun> runs;
  for (const std::string& folder : folders) runs.push_back(ReadRun(folder, sources));
  const std::vector<FoldMetric> metrics = FoldMetrics(runs);
  if (invocation.json) {
    PrintDocument("train-and-evaluate", FoldsJson(runs, metrics));
  } else {
    fmt::print("{}", FoldsText(runs, metrics));
  }
  return 0;
}

int TrainAndEvaluateOrFolds(const FoldsInvocation& invocation, config::Sources& sources) {
  return invocation.folds ? RunFolds(invocation, sources) : TrainAndEvaluate(invocation, sources);
}

}  // namespace

int TrainAndEvaluate(const Invocation& invocation, config::Sources& sources) {
  ShareHeap();
  if (IsEvaluatorTask()) return Follow(InvocationWith<EvaluateInvocation>(invocation), sources);
  Session session(invocation, sources);
  CheckLossIsKnown(invocation, sources);
  if (session.is_worker()) return session.FollowChief(session.TrainingInputs());
  return RunSession(session, [&](const Outcome& outcome) {
    if (invocation.json) {
      PrintDocument("train-and-evaluate", Fields(outcome.result));
    } else {
      PrintResult(session.job(), outcome.result);
    }
  });
}

Command TrainAndEvaluateCommand() {
  return MakeCommand<FoldsInvocation>(
      {.name = "train-and-evaluate",
       .summary = "train a job; evaluate and export after every checkpoint",
       .examples = {"tpuest train-and-evaluate job.yaml",
                    "tpuest train-and-evaluate job.yaml --folds 5"}},
      DeclareFolds, TrainAndEvaluateOrFolds);
}

}  // namespace tpuest::cli
