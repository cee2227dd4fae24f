// tpuest train JOB.yaml

#include "cli/job/job.h"
#include "cli/run/commands.h"
#include "cli/run/open_loss.h"
#include "cli/run/same_run.h"
#include "cli/run/session.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/json.h"
#include "core/estimator/hooks/hook_factory.h"

namespace tpuest::cli {

Json TrainFields(const TrainResult& result) {
  return {{"global_step", result.global_step},
          {"loss", result.loss ? JsonNumber(*result.loss) : Json()},
          {"stopped_because", result.stopped_because},
          {"path", result.checkpoint}};
}

void TellEnd(Log& log, const TrainResult& result, const std::string& model_dir, bool evaluates) {
  if (result.stopped_because == kAlreadyDone) {
    log.Info("done at step {}; max_steps={} trains on", result.global_step, 2 * result.global_step);
  } else {
    log.Info("stopped at step {}: {}", result.global_step, result.stopped_because);
  }
  if (result.checkpoint.empty()) return;  // a dry run, or one that saves nothing
  if (result.exit_code != 0) {
    log.Info("the run is in {}; the same command resumes it", model_dir);
  } else {
    log.Info("the run is in {}; next: tpuest {} --checkpoint {}", model_dir,
             evaluates ? "evaluate" : "predict", model_dir);
  }
}

int Train(const Invocation& invocation, config::Sources& sources) {
  Session session(invocation, sources);
  CheckLossIsKnown(invocation, sources);
  if (session.is_worker()) return session.FollowChief(session.TrainingInputs());
  return session.Run([&] {
    if (!session.job().train_spec) {
      throw Error(Code::kUsage, "train needs a train_spec",
                  "train_spec: {input_fn: train, max_steps: 1000}");
    }
    session.BringBackRun();
    CheckResume(session.job(), session.estimator().model_dir());
    CheckSameRun(session.job(), session.estimator().model_dir());
    const JobHooks hooks = session.MakeTrainHooks();
    const TrainResult result = session.estimator().Train(session.TrainInput(), session.Length(),
                                                         hooks.With(session.recorder()));
    if (result.stopped_because == kAlreadyDone) {
      CheckFinishedRun(session.job(), session.estimator().model_dir());
    }
    TellEnd(session.log(), result, session.estimator().model_dir(),
            session.job().eval_spec.has_value());
    session.console().Clear();
    if (invocation.json) PrintDocument("train", TrainFields(result));
    return result.exit_code;
  });
}

Command TrainCommand() {
  return MakeCommand<Invocation>(
      {.name = "train",
       .summary = "train a job, or resume it where it stopped",
       .examples = {"tpuest train job.yaml",
                    "tpuest train job.yaml max_steps=2000 --model-dir runs/long"}},
      DeclareTraining, Train);
}

}  // namespace tpuest::cli
