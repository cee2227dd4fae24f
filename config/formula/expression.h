#pragma once
// Small formulas over parameters, as Python writes them: "4 * filters", "2 if i == 0 else 1",
// "make_divisible(alpha * 32)", "name + '_bn'".
//
// Numbers, 'text', true, false, none, lists; + - * / // % **, comparisons, in, and, or, not, a if c
// else b, list[i], and a few functions. Integers stay integers but for /, as in Python; unlike
// there, both sides of `if`, `and` and `or` are computed.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tpuest::config {

// The value of a formula; monostate is none.
struct Literal;
using Literals = std::vector<Literal>;
struct Literal {
  std::variant<std::monostate, bool, int64_t, double, std::string, Literals> value;
};

using Parameters = std::map<std::string, Literal, std::less<>>;

// A fault in a formula: `at` and `width` are bytes of its text.
struct FormulaError {
  std::string message;
  std::string hint;
  size_t at = 0;
  size_t width = 1;
};

// The value of a formula. Throws FormulaError for what is no formula, for a name that is no
// parameter, and for operands that do not fit. `text` of up to 4096 bytes, nested up to 64 deep.
[[nodiscard]] Literal Evaluate(std::string_view text, const Parameters& parameters);

// Python's truth of a value: false are none, false, 0, "" and [].
[[nodiscard]] bool IsTrue(const Literal& literal);

// The value as text: of a string itself, of a number its shortest form, "true", "none", "[1, 2]".
[[nodiscard]] std::string TextOf(const Literal& literal);

}  // namespace tpuest::config
