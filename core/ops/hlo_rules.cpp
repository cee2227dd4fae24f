#include "core/ops/hlo_rules.h"

#include "core/ops/shape_rules.h"

namespace tpuest::ops {

void LowerAlias(LowerContext& c) { c.Output(0, c.hlo().Reshape(c.Input(0), c.OutputShape(0))); }

std::vector<int64_t> IntsOfInput(const LowerContext& c, int i) {
  const Tensor value = c.Constant(i);
  if (!value.valid()) c.Fail(fmt::format("input {} must be known from constants and shapes", i));
  return IntsOf(value);
}

// Each step combines an element with the one 1, 2, 4, ... before it (Hillis and Steele 1986); there
// are as many steps as n has bits.
HloValue Scan(HloBuilder& hlo, std::string_view op, const HloValue& x, double init) {
  HloValue sum = x;
  for (int64_t shift = 1; shift < x.dim(0); shift *= 2) {
    const HloValue head = hlo.Slice(sum, {0}, {x.dim(0) - shift}, {1});
    sum = hlo.Binary(op, sum, hlo.Pad(head, init, {shift}, {0}, {0}));
  }
  return sum;
}

}  // namespace tpuest::ops
