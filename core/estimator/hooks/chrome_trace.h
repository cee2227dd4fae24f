#pragma once
// A step's trace as chrome://tracing and Perfetto read it.

#include <string>

#include "core/base/step_trace.h"

namespace tpuest {

// {"traceEvents": [...]} with an event a kernel, one lane a thread. Times are in microseconds with
// three decimals and count from the first event. The step is over.
[[nodiscard]] std::string ChromeTrace(const StepTrace& trace);

}  // namespace tpuest
