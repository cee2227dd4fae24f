#pragma once
// The optimizers' formulas (training.h) in StableHLO, for whole variables and for rows.

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

void LowerGradientDescent(LowerContext& c);
void LowerMomentum(LowerContext& c);
void LowerKerasMomentum(LowerContext& c);
void LowerAdam(LowerContext& c);
void LowerRMSProp(LowerContext& c);
void LowerCenteredRMSProp(LowerContext& c);
void LowerAdagrad(LowerContext& c);  // V2 if there is an `epsilon`
void LowerFtrl(LowerContext& c);     // V2 if there is an `l2_shrinkage`

}  // namespace tpuest::ops
