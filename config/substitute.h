#pragma once
// Puts in the variables of strings: ${VAR}, ${VAR:-x}, ${params.NAME}, ${name}; `$${` is a `${`
// that stays. Finds the formulas of a model in blocks, ${width * 2}, which stand in strings, too.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "config/formula/expression.h"
#include "config/tree.h"

namespace tpuest::config {

// A string with its variables put in, or the reason why they cannot be.
struct Substituted {
  std::string text;
  bool changed = false;              // a variable was put in: read it as if it stood there plainly
  std::optional<std::string> fault;  // why it cannot be done
  std::string hint;
};

// Puts in the variables of `text`. A NAME is looked up among the scalars at the top level of the
// tree, then Tree::names, then in the environment; `params.NAME` only in the job's params. A value
// may itself hold variables. Never throws: the fault is in the result.
[[nodiscard]] Substituted Substitute(const Tree& tree, std::string_view text);

// The text with each `${` written so that Substitute leaves it alone.
[[nodiscard]] std::string EscapeVariables(std::string_view text);

// True for what the job's own variables are: NAME, NAME:-x, params.NAME.
[[nodiscard]] bool IsVariable(std::string_view text, const Parameters& parameters);

// The end of a formula that starts at `begin`: the } that closes it, outside of quotes; npos: none.
[[nodiscard]] size_t FormulaEnd(std::string_view text, size_t begin);

// The literal as what the reader of a job takes for it, at the place of `like`.
[[nodiscard]] Node NodeOf(const Literal& literal, const Node& like);

// Whether a text in the node, or in one below it, has the word.
[[nodiscard]] bool HasWord(const Node& node, std::string_view word);

}  // namespace tpuest::config
