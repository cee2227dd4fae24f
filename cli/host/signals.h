#pragma once
// SIGTERM, SIGUSR1 and SIGHUP make the run save and exit (code 75, or 143 with nothing to save),
// and so does Ctrl-C (130); a second signal exits at once (143, 130).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/estimator/contract/stop_signal.h"

namespace tpuest::cli {

// Returns the names of the signals on which a run can stop: "SIGTERM" and so on.
[[nodiscard]] std::vector<std::string> StopSignalNames();
// The number of such a name; nullopt for any other.
[[nodiscard]] std::optional<int> SignalNamed(std::string_view name);

// Installs handlers of the named signals for the whole process, and ignores SIGPIPE so that writing
// to a closed pipe is an error. The process exits at once if it still runs `grace_secs` (rounded up
// to seconds) after the first signal. `stop` must live as long as the process.
void HandleSignals(StopSignal& stop, const std::vector<std::string>& names,
                   std::optional<double> grace_secs);

}  // namespace tpuest::cli
