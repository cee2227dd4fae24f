// tpuest evaluate JOB.yaml --follow, and train-and-evaluate as TF_CONFIG's evaluator

#include <cmath>
#include <ctime>

#include "cli/job/eval_tasks.h"
#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/eval_report.h"
#include "cli/run/record/folder.h"
#include "cli/run/session.h"
#include "cli/shell/json.h"
#include "core/base/process/heap.h"

namespace tpuest::cli {
namespace {

// Sleeps until the time has passed or a signal arrives, so that Ctrl-C takes effect at once.
void SleepFor(double secs) {
  const double whole = std::floor(secs);
  const timespec time{.tv_sec = static_cast<time_t>(whole),
                      .tv_nsec = static_cast<long>((secs - whole) * 1e9)};
  ::nanosleep(&time, nullptr);
}

void CheckFlags(const EvaluateInvocation& invocation, const Job& job) {
  if (invocation.checkpoint || invocation.name) {
    throw Error(
        Code::kUsage,
        fmt::format("--follow takes no --{}", invocation.checkpoint ? "checkpoint" : "name"),
        "--follow evaluates every new checkpoint with every eval_spec");
  }
  if (invocation.dry_run) {
    throw Error(Code::kUsage, "--follow takes no --dry-run",
                "tpuest evaluate --dry-run checks the same job");
  }
  if (!invocation.fail_if.empty()) {
    throw Error(Code::kUsage, "--follow takes no --fail-if",
                "evaluate after the run has ended: tpuest evaluate --fail-if ...");
  }
  if (job.estimator.run_config.model_dir) return;
  throw Error(Code::kUsage, "--follow needs the model_dir of the run to follow", "--model-dir DIR")
      .Key("run_config.model_dir");
}

Json Fields(const FollowResult& result) {
  Json fields = {{"global_step", 0}, {"metrics", Json()}, {"exports", Json::object()}};
  for (const auto& [label, evaluation] : result.evaluations) {
    fields["global_step"] = evaluation.global_step;
    fields["metrics"][label] = MetricsJson(evaluation);
    fields["path"] = evaluation.checkpoint;
  }
  for (const auto& [name, path] : result.exports) fields["exports"][name] = path;
  fields["stopped_because"] = result.stopped_because;
  return fields;
}

void PrintResult(const Job& job, const FollowResult& result) {
  const bool several = result.evaluations.size() > 1;
  for (const auto& [label, evaluation] : result.evaluations) {
    PrintMetrics(evaluation, several ? label + "/" : "", ClassNamesOf(job));
  }
  for (const auto& [name, path] : result.exports) fmt::print("{}\n", path);
}

}  // namespace

int Follow(const EvaluateInvocation& given, config::Sources& sources) {
  ShareHeap();
  EvaluateInvocation invocation = given;
  invocation.by_itself = true;
  Session session(invocation, sources, SessionUse::kModel);
  return session.Run([&] {
    const Job& job = session.job();
    CheckFlags(invocation, job);
    FollowArgs args{.deadline_secs = job.tpuest.deadlines.evaluator_secs,
                    .trainer = [&] { return RunFolder::StateOf(session.estimator().model_dir()); },
                    .sleep = SleepFor};
    if (job.train_spec) args.max_steps = session.Length().max_steps;
    const FollowResult result =
        session.estimator().Follow(args, EvalTasksOf(job, invocation.command));
    session.console().Clear();
    if (invocation.json) {
      PrintDocument(invocation.command, Fields(result));
    } else {
      PrintResult(session.job(), result);
    }
    return 0;
  });
}

}  // namespace tpuest::cli
