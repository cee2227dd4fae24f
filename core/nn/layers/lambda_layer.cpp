#include "core/nn/layers/lambda_layer.h"

#include <fmt/format.h>

#include "core/nn/formula/formula.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {

Value Lambda::Apply(LayerContext& context, const std::vector<Value>& xs) const {
  const LayerScope scope(context, name, kType, place);
  std::vector<Value> values;
  for (const Value x : xs) {
    values.push_back(IsFloating(x.dtype()) ? ops::Cast(x, context.compute_dtype) : x);
  }
  FormulaNames names;
  const auto* const by_name = std::get_if<std::map<std::string, std::string>>(&inputs);
  if (by_name != nullptr) {
    if (by_name->size() != values.size()) {
      scope.Fail(fmt::format("takes {} inputs, got {}", by_name->size(), values.size()));
    }
    size_t i = 0;
    for (const auto& [argument, input] : *by_name) names.values.emplace(argument, values[i++]);
  } else if (values.size() == 1) {
    names.values.emplace("x", values[0]);
  } else {
    names.lists.emplace("x", values);
  }
  const NameScope nodes = scope.Nodes();
  return scope.Output(BuildFormula(context.graph, value, names));
}

}  // namespace tpuest::nn
