#pragma once
// Lists of hosts as Slurm writes them: "n[001-003,007],gpu1" is n001, n002, n003, n007 and gpu1.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest::hosts {

// The hosts in order. A host has any number of brackets with numbers and ranges in them, of which
// the last changes fastest; a number keeps the zeros that the first of its range begins with.
// nullopt for a text that is no such list, and for one of more than a hundred thousand hosts.
[[nodiscard]] std::optional<std::vector<std::string>> ExpandHostList(std::string_view text);

}  // namespace tpuest::hosts
