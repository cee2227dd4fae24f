#pragma once
// Backend over a PJRT plugin: graphs are lowered to StableHLO and compiled for its devices. A
// program without targets runs a step a call; one with targets has a loop (LowerLoopToHlo).
// Variables stay on the devices between runs.

#include <memory>

#include "core/backend/backend.h"
#include "core/backend/pjrt/client.h"

namespace tpuest {

// `client` outlives the backend's programs, and the variables that they have left on it.
[[nodiscard]] std::unique_ptr<Backend> MakePjrtBackend(PjrtClient& client);

}  // namespace tpuest
