#pragma once
// A layer that is a formula.

#include <string>
#include <vector>

#include "core/base/formula_text.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// Returns the value of a formula (core/nn/formula/formula.h) over tensors [batch, ...]. A single
// input is `x`; a list of inputs is x[0], x[1], ...; if `inputs` names the inputs, the formula uses
// these names. Floating-point inputs are cast to the compute dtype.
struct Lambda {
  static constexpr std::string_view kType = "lambda";
  static constexpr std::string_view kSummary = "a formula of the inputs";
  static constexpr std::string_view kAliases[] = {"Lambda"};
  static constexpr bool kTakesAnything = true;
  Formula value;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("value", value, {.help = "formula of x, or of the names in `inputs`", .required = true});
    VisitName(v, *this, "name of the layer; default: lambda, lambda_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, const std::vector<Value>& xs) const;
};

}  // namespace tpuest::nn
