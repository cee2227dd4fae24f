#pragma once
// Random ops in StableHLO: the words of the CPU engine (core/ops/random.h), so that uniform numbers
// and integers are its numbers to the bit. Normals of float and bfloat16 are computed in float, to
// 1e-6 of the largest; a truncated one that lies so near to two deviations may be another one.

#include "core/backend/hlo/lower.h"

namespace tpuest::ops {

void LowerRandomUniform(LowerContext& c);
void LowerRandomNormal(LowerContext& c);
void LowerTruncatedNormal(LowerContext& c);
void LowerRandomIntegers(LowerContext& c);

}  // namespace tpuest::ops
