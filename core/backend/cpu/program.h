#pragma once
// The CPU engine.

#include <memory>

#include "core/backend/backend.h"

namespace tpuest {

// Program::Run seeds random ops with the value of the variable "global_step" at the start of a step
// (0 if there is no such variable).
[[nodiscard]] std::unique_ptr<Backend> MakeCpuBackend();

}  // namespace tpuest
