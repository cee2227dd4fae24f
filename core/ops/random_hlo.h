#pragma once
// Random ops in StableHLO, from the same words as on the CPU engine (core/ops/random.h): uniform
// numbers and integers are equal to the bit. Normals of float and bfloat16 are computed in float,
// within 1e-6 of the largest; a truncated normal that close to two deviations may be redrawn on one
// side only.

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

void LowerRandomUniform(LowerContext& c);
void LowerRandomNormal(LowerContext& c);
void LowerTruncatedNormal(LowerContext& c);
void LowerRandomIntegers(LowerContext& c);

}  // namespace tpuest::ops
