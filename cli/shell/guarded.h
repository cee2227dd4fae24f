#pragma once
// Errors end here: what a command throws becomes text for a person, a document, and the exit code.

#include <functional>

#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Runs `body` in the folder of -C and returns its exit code. Whatever it throws is printed on
// stderr with the lines of the job it is about, with --json as {"error": ...} on stdout, too. The
// exit code is then Error's Code; 6 for memory or threads that the machine refuses and for a stdout
// that cannot be written; 1 for anything else, a bug. Here alone do faults that name a key find
// their places.
int Guarded(const Invocation& invocation, const std::function<int(config::Sources& sources)>& body);

}  // namespace tpuest::cli
