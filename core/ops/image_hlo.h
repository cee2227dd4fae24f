#pragma once
// The ops of image.h in StableHLO.

#include "core/backend/hlo/lower.h"
#include "core/graph/graph.h"
#include "core/kernels/projective.h"
#include "core/kernels/resize.h"

namespace tpuest::ops {

// The sizes of a resizing op or of its gradient, for an image [N, H, W, C] and its result.
[[nodiscard]] ResizeShape ResizeShapeOf(const Node& node, const Shape& image, const Shape& result);
[[nodiscard]] ProjectiveShape ProjectiveShapeOf(const Node& node, const Shape& image,
                                                const Shape& result);

void LowerResize(LowerContext& c);
void LowerResizeGrad(LowerContext& c);
void LowerProjective(LowerContext& c);
void LowerProjectiveGrad(LowerContext& c);

}  // namespace tpuest::ops
