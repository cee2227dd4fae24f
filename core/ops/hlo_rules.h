#pragma once
// Rules that the lowerings of many ops share.

#include <cstdint>
#include <vector>

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

// A lowering whose output 0 is input 0 under output 0's shape.
void LowerAlias(LowerContext& c);

// The integers of input i, which must be known when the module is made. Error kUsage otherwise.
[[nodiscard]] std::vector<int64_t> IntsOfInput(const LowerContext& c, int i);

// The running join of x [n]: element i of the result joins elements 0..i by `op` (add, maximum,
// minimum); `init` changes nothing in it.
[[nodiscard]] HloValue Scan(HloBuilder& hlo, std::string_view op, const HloValue& x, double init);

}  // namespace tpuest::ops
