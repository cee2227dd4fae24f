#include "core/ops/data_sized.h"

#include <algorithm>
#include <utility>

#include "core/ops/shape_rules.h"

namespace tpuest::ops {

BoundOp SizedByInputs(const Node& node, std::vector<int> inputs) {
  BoundOp bound{node.type(), node.attrs()};
  const bool known = std::all_of(inputs.begin(), inputs.end(),
                                 [&](int i) { return ConstantValue(node.input(i)).valid(); });
  bound.sizing_inputs = std::move(inputs);
  if (known) return bound;
  bound.sized_by_values = "the sizes of its results depend on the values of its inputs";
  bound.hint = "only a SavedModel evaluates and predicts with such ops, on one replica";
  return bound;
}

std::optional<std::vector<int64_t>> KnownIntegers(const ShapeContext& context, int i) {
  const Tensor known = context.Constant(i);
  if (!known.valid()) return std::nullopt;
  return IntsOf(known);
}

void FailInData(const Node& node, const std::string& message) {
  throw Error(Code::kData, fmt::format("{} '{}': {}", node.type(), node.name(), message))
      .At(node.origin());
}

int64_t SharedRows(const ShapeContext& context, int first, int second) {
  const Shape& a = context.Input(first);
  const Shape& b = context.Input(second);
  const int64_t of_a = a.known_rank() && a.rank() > 0 ? a.dim(0) : kUnknownDim;
  const int64_t of_b = b.known_rank() && b.rank() > 0 ? b.dim(0) : kUnknownDim;
  if (of_a != kUnknownDim && of_b != kUnknownDim && of_a != of_b) {
    context.Fail(fmt::format("inputs {} and {} must have the same number of rows, found {} and {}",
                             first, second, a.Text(), b.Text()));
  }
  return of_a == kUnknownDim ? of_b : of_a;
}

}  // namespace tpuest::ops
