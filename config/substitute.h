#pragma once
// Substitutes variables in strings: ${VAR}, ${VAR:-x}, ${params.NAME}, ${name}; `$${` is a literal
// `${`. Also finds the formulas in a model's blocks, ${width * 2}.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/formula/expression.h"
#include "config/tree.h"

namespace tpuest::config {

// A string with its variables substituted, or the fault.
struct Substituted {
  std::string text;
  bool changed = false;  // a variable was substituted: read the text as if it were unquoted
  std::optional<std::string> fault;  // why the variables cannot be substituted
  std::string hint;
};

// Substitutes the variables of `text`. A NAME is looked up among the scalars at the top level of
// the tree, then Tree::names, then in the environment; `params.NAME` only in the job's params. A
// value may itself hold variables. Never throws: the fault is in the result.
[[nodiscard]] Substituted Substitute(const Tree& tree, std::string_view text);

// Returns the text with each `${` escaped, so that Substitute leaves it unchanged.
[[nodiscard]] std::string EscapeVariables(std::string_view text);

// Returns true for a variable of the job: NAME, NAME:-x, params.NAME.
[[nodiscard]] bool IsVariable(std::string_view text, const Parameters& parameters);

// Returns the position of the } outside quotes that closes the formula starting at `begin`; npos if
// it never closes.
[[nodiscard]] size_t FormulaEnd(std::string_view text, size_t begin);

// Returns the literal as a node that the reader of a job reads as the same value, at the place of
// `like`.
[[nodiscard]] Node NodeOf(const Literal& literal, const Node& like);

// Returns true if a text in the node or below it has the word.
[[nodiscard]] bool HasWord(const Node& node, std::string_view word);

}  // namespace tpuest::config
