#pragma once
// Substitutes variables in strings: ${VAR}, ${VAR:-x}, ${params.NAME}, ${name}; `$${` is a literal
// `${`.

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace tpuest::config
