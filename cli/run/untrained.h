#pragma once
// What evaluate and predict say where nothing was trained.

#include "cli/run/session.h"

namespace tpuest::cli {

// True where the session's model_dir has no checkpoint, and the job takes weights from nowhere
// else: evaluate and predict then use fresh variables, as TensorFlow documents.
[[nodiscard]] bool IsUntrained(Session& session);

// Warns of fresh variables, and names the run that is in the model_dir beside the job file, where
// the one counted from the working directory has none. `doing` is the command's verb: "evaluate".
void WarnIfUntrained(Session& session, const Invocation& invocation, std::string_view doing);

}  // namespace tpuest::cli
