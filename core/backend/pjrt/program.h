#pragma once
// A Backend that lowers graphs to StableHLO and compiles them for the devices of a PJRT plugin. A
// program without targets runs one step per call; a program with targets runs a loop of steps
// (LowerLoopToHlo). Variables stay on the devices between runs.

#include <memory>

#include "core/backend/backend.h"
#include "core/backend/pjrt/client.h"

namespace tpuest {

// `client` outlives the backend's programs and the variables that they leave on it.
[[nodiscard]] std::unique_ptr<Backend> MakePjrtBackend(PjrtClient& client);

}  // namespace tpuest
