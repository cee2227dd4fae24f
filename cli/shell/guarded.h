#pragma once
// Turns the errors of a command into text for a person, a document, and the exit code.

#include <functional>

#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Runs `body` in the folder of -C and returns its exit code. Prints its errors to stderr with the
// lines of the job that they concern, with --json also as {"error": ...} to stdout. The exit code
// is then Error's Code; 6 if the machine refuses memory or threads, or stdout cannot be written; 1
// for anything else, which is a bug. This is the only place that gives faults with a key their
// place in the job.
int Guarded(const Invocation& invocation, const std::function<int(config::Sources& sources)>& body);

}  // namespace tpuest::cli
