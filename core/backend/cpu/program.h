#pragma once
// The CPU engine.

#include <memory>

#include "core/backend/backend.h"

namespace tpuest {

// Its Program::Run draws random numbers for the step that the variable "global_step" (0 if there is
// none) holds when the step starts.
[[nodiscard]] std::unique_ptr<Backend> MakeCpuBackend();

}  // namespace tpuest
