#pragma once
// Refuses to evaluate, predict with or explain an untrained model.

#include "cli/run/session.h"

namespace tpuest::cli {

// True if the session's model_dir has no checkpoint, and the job does not take its weights from
// elsewhere.
[[nodiscard]] bool IsUntrained(Session& session);

// Throws Error kCheckpoint if the model is untrained; with --untrained, warns instead. Both name
// the run in the model_dir beside the job file, if only that folder has a run. `doing` is the
// command's verb: "evaluate".
void CheckTrained(Session& session, const Invocation& invocation, std::string_view doing);

}  // namespace tpuest::cli
