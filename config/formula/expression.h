#pragma once
// Small formulas over parameters, as Python writes them: "4 * filters", "2 if i == 0 else 1",
// "make_divisible(alpha * 32)", "name + '_bn'". Integers stay integers but for /, as in Python.

#include <map>
#include <string>
#include <string_view>

#include "config/formula/literal.h"
#include "config/formula/syntax.h"

namespace tpuest::config {

using Parameters = std::map<std::string, Literal, std::less<>>;

// The value of a formula (syntax.h). Throws FormulaError for what is no formula, for a name that is
// no parameter or function wherever it stands, and for operands that do not fit where they are
// computed.
[[nodiscard]] Literal Evaluate(std::string_view text, const Parameters& parameters);

}  // namespace tpuest::config
