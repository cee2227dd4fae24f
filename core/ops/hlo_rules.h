#pragma once
// Rules that the lowerings of many ops share.

#include <cstdint>
#include <vector>

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

// A lowering whose output 0 is input 0 in output 0's shape.
void LowerAlias(LowerContext& c);

// Returns the integers of input i, which must be known when the module is made. Throws Error kUsage
// otherwise.
[[nodiscard]] std::vector<int64_t> IntsOfInput(const LowerContext& c, int i);

// Returns the running reduction of x [n]: element i combines elements 0..i by `op` (add, maximum,
// minimum); `init` is the neutral element.
[[nodiscard]] HloValue Scan(HloBuilder& hlo, std::string_view op, const HloValue& x, double init);

}  // namespace tpuest::ops
