#pragma once
// The grammar of formulas, which is that of Python's expressions: numbers, 'texts', names, lists,
// a if c else b, or, and, not, comparisons (also chained, in, not in), | ^ &, + -, * / // %, signs
// and ~, **, calls with positional and keyword arguments, x[i], x[a:b:c, ..., None].
//
// A formula is read into a tree. The evaluator of the tree defines its names and functions:
// expression.h over parameters, core/nn/formula over tensors.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/formula/literal.h"

namespace tpuest::config {

// A fault in a formula: `at` and `width` are bytes of its text.
struct FormulaError {
  std::string message;
  std::string hint;
  size_t at = 0;
  size_t width = 1;
};

struct Expression {
  enum class Kind {
    kLiteral,      // literal
    kName,         // text: "x", "tf.float32"
    kList,         // parts
    kSign,         // text: - + ~ not; parts: operand
    kBinary,       // text: + - * / // % ** & | ^; parts: both
    kCompare,      // words: the signs; parts: one more
    kAnd,          // parts: two
    kOr,           // parts: two
    kConditional,  // parts: value, condition, other
    kCall,         // text: the function; parts: arguments; words: their names, "" without one
    kIndex,        // parts: what, then positions: values, kSlice, kEllipsis
    kSlice,        // parts: begin, end, stride, each a literal none if omitted
    kEllipsis
  };
  Kind kind = Kind::kLiteral;
  Literal literal = {};
  std::string text = {};
  std::vector<std::string> words = {};
  std::vector<Expression> parts = {};
  // The bytes that a fault points at: an operator's sign, a name.
  size_t at = 0;
  size_t width = 1;
};

// The tree of a formula of up to 4096 bytes, nested up to 64 deep. Throws FormulaError.
[[nodiscard]] Expression ParseFormula(std::string_view text);

// Calls f(); a Misfit from it is a FormulaError at the expression.
template <class F>
auto AtExpression(const Expression& expression, F f) {
  try {
    return f();
  } catch (const Misfit& misfit) {
    throw FormulaError{misfit.message, misfit.hint, expression.at, expression.width};
  }
}

}  // namespace tpuest::config
