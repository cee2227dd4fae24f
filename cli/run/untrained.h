#pragma once
// Refuses to evaluate, predict with or explain a model that nothing has trained.

#include "cli/run/session.h"

namespace tpuest::cli {

// True if the session's model_dir has no checkpoint, and the job takes weights from nowhere else.
[[nodiscard]] bool IsUntrained(Session& session);

// Throws Error kCheckpoint if the model is untrained; with --untrained, warns instead. Either names
// the run in the model_dir beside the job file if the one in the working directory has none.
// `doing` is the command's verb: "evaluate".
void CheckTrained(Session& session, const Invocation& invocation, std::string_view doing);

}  // namespace tpuest::cli
