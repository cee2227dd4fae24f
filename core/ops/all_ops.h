#pragma once
// All op families that tpuest knows: `const OpRegistry registry(ops::AllOps());`.

#include <vector>

#include "core/graph/op_def.h"

namespace tpuest::ops {

[[nodiscard]] std::vector<OpFamily> AllOps();

}  // namespace tpuest::ops
