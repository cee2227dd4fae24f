#pragma once
// SIGTERM and SIGUSR1 ask the run to save and leave (exit code 75), Ctrl-C likewise (130); a second
// one leaves at once (143, 130).

#include "core/estimator/contract/stop_signal.h"

namespace tpuest::cli {

// `stop` lives as long as the process.
void HandleSignals(StopSignal& stop);

}  // namespace tpuest::cli
