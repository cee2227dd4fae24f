#pragma once
// SIGTERM, SIGUSR1 and SIGHUP ask the run to save and leave (exit code 75), Ctrl-C asks for the
// same (130); a second signal leaves at once (143, 130).

#include "core/estimator/contract/stop_signal.h"

namespace tpuest::cli {

// Installs the handlers for the whole process, and ignores SIGPIPE so that a closed pipe is an
// error of the write. `stop` lives as long as the process.
void HandleSignals(StopSignal& stop);

}  // namespace tpuest::cli
