#include "core/nn/columns/normalizer.h"

#include "core/nn/formula/formula.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

Value Normal(const ZScore& z, Value x) { return ops::RealDiv(ops::Sub(x, z.mean), z.std); }

Value Normal(const MinMax& m, Value x) { return ops::RealDiv(ops::Sub(x, m.min), m.max - m.min); }

Value Normal(const Formula& formula, Value x) {
  const Value normal = BuildFormula(x.graph(), formula, {.values = {{"x", x}}});
  if (normal.dtype() == x.dtype() && normal.shape() == x.shape()) return normal;
  throw Error(Code::kUsage, fmt::format("normalizer_fn returns {} {}, expected the column's {} {}",
                                        NameOf(normal.dtype()), normal.shape().Text(),
                                        NameOf(x.dtype()), x.shape().Text()))
      .At(formula.place);
}

}  // namespace

Value Normalized(Value x, const std::optional<Normalizer>& normalizer) {
  if (!normalizer) return x;
  return std::visit([&](const auto& n) { return Normal(n, x); }, *normalizer);
}

}  // namespace tpuest::nn
