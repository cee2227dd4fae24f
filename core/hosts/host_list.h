#pragma once
// Host lists in Slurm's notation: "n[001-003,007],gpu1" names n001, n002, n003, n007 and gpu1.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tpuest::hosts {

// Returns the hosts in order, as `scontrol show hostnames` prints them. A host may have several
// brackets of numbers and ranges; the last bracket varies fastest. Numbers of a range keep the
// leading zeros of its first number. Returns nullopt if the text is not a host list or names more
// than 100,000 hosts.
[[nodiscard]] std::optional<std::vector<std::string>> ExpandHostList(std::string_view text);

}  // namespace tpuest::hosts
