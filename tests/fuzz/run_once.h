#pragma once
// Plans a graph and runs it once with zeros, if that takes little memory and time.

#include "core/backend/backend.h"

namespace tpuest::fuzz {

// Throws what planning and running throw. A graph whose results have more elements than a run may
// take is planned only.
void RunOnce(const ProgramSpec& spec);

}  // namespace tpuest::fuzz
