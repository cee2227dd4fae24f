#pragma once
// Puts in the variables of strings: ${VAR}, ${VAR:-x}, ${params.NAME}, ${name}; `$${` is a `${`
// that stays.

#include <optional>
#include <string>
#include <string_view>

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

}  // namespace tpuest::config
