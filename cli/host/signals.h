#pragma once
// SIGTERM, SIGUSR1 and SIGHUP ask the run to save and leave (exit code 75, or 143 with nothing to
// save), Ctrl-C asks for the same (130); a second signal leaves at once (143, 130).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/estimator/contract/stop_signal.h"

namespace tpuest::cli {

// The names of the signals that a run can leave at: "SIGTERM" and so on.
[[nodiscard]] std::vector<std::string> StopSignalNames();
// The number of such a name; nullopt for any other.
[[nodiscard]] std::optional<int> SignalNamed(std::string_view name);

// Installs the handlers of these for the whole process, and ignores SIGPIPE so that a closed pipe
// is an error of the write. What has not left `grace_secs` (up to whole seconds) after the first of
// them leaves at once. `stop` lives as long as the process.
void HandleSignals(StopSignal& stop, const std::vector<std::string>& names,
                   std::optional<double> grace_secs);

}  // namespace tpuest::cli
