#pragma once
// A numeric column's normalizer_fn. Seen only by core/nn/columns.

#include <optional>

#include "core/graph/graph.h"
#include "core/nn/columns/feature_columns.h"

namespace tpuest::nn {

// The numbers x, float32 [B, ...], as the normalizer makes them; x where there is none. A formula
// names them `x`. Throws Error kUsage, at the formula, where it gives something else than float32
// of x's shape.
[[nodiscard]] Value Normalized(Value x, const std::optional<Normalizer>& normalizer);

}  // namespace tpuest::nn
