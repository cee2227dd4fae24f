#pragma once
// Writes a step's trace in the format that chrome://tracing and Perfetto read.

#include <string>

#include "core/base/step_trace.h"

namespace tpuest {

// {"traceEvents": [...]} with an event a kernel, one lane a thread. Times are in microseconds with
// three decimals and count from the first event. The step is over when it is called: other threads
// no longer write the trace.
[[nodiscard]] std::string ChromeTrace(const StepTrace& trace);

}  // namespace tpuest
