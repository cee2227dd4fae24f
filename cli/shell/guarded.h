#pragma once
// From what a command throws to what a person reads and the exit code.

#include <functional>

#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Runs `body` in the folder of -C, and turns whatever it throws into what is printed and the exit
// code. Here alone do faults that name a key find their places.
int Guarded(const Invocation& invocation, const std::function<int(config::Sources& sources)>& body);

}  // namespace tpuest::cli
