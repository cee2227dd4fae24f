#include "cli/run/untrained.h"

#include <variant>

#include "cli/job/job.h"
#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {
namespace {

// Returns the run that model_dir names relative to the job's folder, if there is one.
std::optional<std::string> RunBesideJob(const Invocation& invocation,
                                        const std::string& model_dir) {
  if (!invocation.job || model_dir.starts_with('/')) return std::nullopt;
  const std::string folder = DirName(*invocation.job);
  if (folder.empty()) return std::nullopt;
  std::string beside = JoinPath(folder, model_dir);
  if (CheckpointsIn(beside).empty()) return std::nullopt;
  return beside;
}

}  // namespace

bool IsUntrained(Session& session) {
  const Job& job = session.job();
  const auto* const layers = std::get_if<models::Functional>(&job.model);
  const bool has_weights = job.estimator.warm_start_from.has_value() ||
                           (layers != nullptr && !layers->weights.empty()) ||
                           std::holds_alternative<models::SavedModelModel>(job.model);
  return !has_weights && CheckpointsIn(session.estimator().model_dir()).empty() &&
         !session.HasCheckpoint();
}

void CheckTrained(Session& session, const Invocation& invocation, std::string_view doing) {
  if (invocation.checkpoint || !IsUntrained(session)) return;
  const std::string& model_dir = session.estimator().model_dir();
  const std::string none = fmt::format("{}: there is no checkpoint to {}", model_dir, doing);
  const std::optional<std::string> beside = RunBesideJob(invocation, model_dir);
  const std::string other =
      beside ? fmt::format("a run is in {}: --model-dir {}", *beside, *beside) : "";
  if (!invocation.untrained) {
    throw Error(Code::kCheckpoint, none,
                beside ? other : "train first; --untrained uses the model's initial values");
  }
  session.log().Warning("{}, so its variables have their initial values{}", none,
                        beside ? "; " + other : "");
}

}  // namespace tpuest::cli
