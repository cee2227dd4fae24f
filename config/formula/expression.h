#pragma once
// Small formulas over parameters, as Python writes them: "4 * filters", "2 if i == 0 else 1",
// "make_divisible(alpha * 32)", "name + '_bn'". Integers stay integers except with /, as in Python.

#include <map>
#include <string>
#include <string_view>

#include "config/formula/literal.h"
#include "config/formula/syntax.h"

namespace tpuest::config {

using Parameters = std::map<std::string, Literal, std::less<>>;

// Returns the value of a formula (syntax.h). Throws FormulaError for invalid syntax, for an unknown
// name or function anywhere in it, and for operands of the wrong kind in the parts that are
// evaluated.
[[nodiscard]] Literal Evaluate(std::string_view text, const Parameters& parameters);

}  // namespace tpuest::config
