#pragma once
// Writes a step's trace in the format that chrome://tracing and Perfetto read.

#include <string>

#include "core/base/step_trace.h"

namespace tpuest {

// {"traceEvents": [...]} with one event per kernel and one lane per thread. Times are microseconds
// with three decimals since the first event. Call it after the step, when other threads no longer
// write the trace.
[[nodiscard]] std::string ChromeTrace(const StepTrace& trace);

}  // namespace tpuest
