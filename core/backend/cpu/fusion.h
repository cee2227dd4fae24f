#pragma once
// Fuses chains of nodes of a bound graph. Only speed changes: with fusion off a program computes
// the same function.
//
//   Conv2D or MatMul, BiasAdd [, Relu]         one product with bias and activation
//   Relu, MaxPool                              the pool first: a quarter of the elements for a 2x2;
//                                              its gradient is gated before it is sent back
//   BiasAddGrad and Conv2DBackpropFilter of    one primitive that computes both
//   the same gradient

#include "core/backend/bind.h"

namespace tpuest {

// Returns the fused program. Feeds, fetches, targets and the guard keep their values and names; a
// value is fused away only if nothing else reads it.
[[nodiscard]] BoundGraph Fused(BoundGraph bound);

}  // namespace tpuest
