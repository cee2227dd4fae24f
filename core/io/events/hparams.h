#pragma once
// A run's hyperparameters, as TensorBoard's HParams plugin shows them in a table of runs.

#include <map>
#include <string>
#include <variant>

#include "core/io/events/event.h"

namespace tpuest {

using HParam = std::variant<bool, double, std::string>;
using HParams = std::map<std::string, HParam>;

// The summary that begins a session, with its start time in seconds since the epoch, and the
// summary that ends it successfully.
[[nodiscard]] SummaryValue HParamsStart(const HParams& hparams, double now);
[[nodiscard]] SummaryValue HParamsEnd(double now);

}  // namespace tpuest
