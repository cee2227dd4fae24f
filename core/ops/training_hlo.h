#pragma once
// The optimizers' formulas in StableHLO, of whole variables and of rows; training.h has them.

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

void LowerGradientDescent(LowerContext& c);
void LowerMomentum(LowerContext& c);
void LowerKerasMomentum(LowerContext& c);
void LowerAdam(LowerContext& c);
void LowerRMSProp(LowerContext& c);
void LowerCenteredRMSProp(LowerContext& c);
void LowerAdagrad(LowerContext& c);  // with `epsilon` V2
void LowerFtrl(LowerContext& c);     // with `l2_shrinkage` V2

}  // namespace tpuest::ops
