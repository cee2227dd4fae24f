#pragma once
// Lowerings of convolutions to StableHLO.

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

void LowerConv(LowerContext& c);                // Conv2D, DepthwiseConv2dNative
void LowerConvBackpropInput(LowerContext& c);   // for both
void LowerConvBackpropFilter(LowerContext& c);  // for both

void LowerMaxPool(LowerContext& c);
void LowerMaxPoolGrad(LowerContext& c);
void LowerAvgPool(LowerContext& c);
void LowerAvgPoolGrad(LowerContext& c);

}  // namespace tpuest::ops
