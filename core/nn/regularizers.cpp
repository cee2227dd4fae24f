#include "core/nn/regularizers.h"

#include "core/base/error.h"
#include "core/nn/at_least_zero.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

Value PenaltyOf(const L1Regularizer& regularizer, Value w) {
  CheckAtLeastZero("l1", regularizer.l1);
  return ops::Mul(ops::Sum(ops::Abs(w)), regularizer.l1);
}

Value PenaltyOf(const L2Regularizer& regularizer, Value w) {
  CheckAtLeastZero("l2", regularizer.l2);
  return ops::Mul(ops::Sum(ops::Square(w)), regularizer.l2);
}

Value PenaltyOf(const L1L2Regularizer& regularizer, Value w) {
  return ops::AddV2(PenaltyOf(L1Regularizer{regularizer.l1}, w),
                    PenaltyOf(L2Regularizer{regularizer.l2}, w));
}

}  // namespace

Value Penalty(const Regularizer& regularizer, Value weights) {
  if (!regularizer) return {};
  return std::visit([&](const auto& r) { return PenaltyOf(r, weights); }, *regularizer);
}

}  // namespace tpuest::nn
