#pragma once
// A numeric column's normalizer_fn. Private to core/nn/columns.

#include <optional>

#include "core/graph/graph.h"
#include "core/nn/columns/feature_columns.h"

namespace tpuest::nn {

// Returns the numbers x, float32 [B, ...], normalized; x itself if there is no normalizer. A
// formula calls them `x`. Throws Error kUsage, at the formula, if its result is not float32 of x's
// shape.
[[nodiscard]] Value Normalized(Value x, const std::optional<Normalizer>& normalizer);

}  // namespace tpuest::nn
