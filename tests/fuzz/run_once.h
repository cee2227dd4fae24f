#pragma once
// Plans a graph and runs it once with zeros, if that takes little memory and time.

#include "core/backend/backend.h"

namespace tpuest::fuzz {

// Throws the errors of planning and running. Only plans a graph whose results exceed the limit on
// elements.
void RunOnce(const ProgramSpec& spec);

}  // namespace tpuest::fuzz
