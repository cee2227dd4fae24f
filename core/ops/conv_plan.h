#pragma once
// Plans of convolutions on the CPU.

#include "core/backend/plan.h"

namespace tpuest::ops {

void PlanConv(PlanContext& context);  // Conv2D, DepthwiseConv2dNative, _FusedConv2D
void PlanConvBackpropInput(PlanContext& context);
void PlanConvBackpropFilter(PlanContext& context);  // also computes the gradient of the bias

}  // namespace tpuest::ops
