#include "cli/look/verify_export.h"

#include <fmt/format.h>

#include "cli/job/export_args.h"
#include "cli/job/job.h"
#include "cli/run/record/folder.h"
#include "cli/run/session.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"
#include "core/nn/global_step.h"

namespace tpuest::cli {
namespace {

constexpr int64_t kRecords = 100;

// The prefix of the checkpoint that the export was made of; where it is gone, the export's folder.
std::string CheckpointOf(const std::string& folder, const std::string& model_dir, Log& log) {
  const BundleReader variables(SavedModelVariables(folder));
  const std::string name(nn::kGlobalStepName);
  if (variables.Has(name)) {
    const int64_t step = *variables.Read(name).data<int64_t>();
    std::string prefix = CheckpointAt(model_dir, step);
    if (CheckpointExists(prefix)) return prefix;
    log.Warning("{} is gone: the export is compared with the model on its own variables", prefix);
  }
  return folder;
}

}  // namespace

int VerifyExportOf(const VerifyInvocation& invocation, const std::string& folder,
                   config::Sources& sources) {
  if (invocation.all || invocation.from) {
    throw Error(Code::kUsage,
                fmt::format("{} applies to a run, but {} is a SavedModel",
                            invocation.all ? "--all" : "--from", folder),
                "--records N sets the number of records that compare a SavedModel");
  }
  const std::string model_dir = invocation.model_dir.value_or(ModelDirOf(folder));
  if (!FileExists(ResolvedJobPath(model_dir))) {
    throw Error(
        Code::kUsage,
        fmt::format("{}: is not inside a run, whose job is needed to check it", folder),
        fmt::format("name the run with --model-dir; tpuest inspect {} needs no run", folder));
  }
  Invocation own = invocation;
  own.arguments.clear();
  own.job = ResolvedJobPath(model_dir);
  own.model_dir = model_dir;
  own.dry_run = true;  // nothing is written into the run
  Session session(own, sources, SessionUse::kModel);
  return session.Run([&] {
    const std::string checkpoint = CheckpointOf(folder, model_dir, session.log());
    const VerifyResult result = session.estimator().VerifySavedModel(
        folder, VerifyArgsOf(session.job(), invocation.records.value_or(kRecords)), checkpoint);
    session.console().Clear();
    if (invocation.json) {
      PrintDocument("verify", {{"kind", "saved_model"},
                               {"path", folder},
                               {"checkpoint", checkpoint},
                               {"signatures", result.signatures},
                               {"records", result.records},
                               {"same", true}});
    } else {
      fmt::print("{}: {} signatures agree with the model of {} on {} records\n", folder,
                 result.signatures, checkpoint, result.records);
    }
    return 0;
  });
}

}  // namespace tpuest::cli
