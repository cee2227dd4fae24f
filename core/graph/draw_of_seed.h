#pragma once

#include <string_view>

namespace tpuest {

// An int attribute of a random node in a layer with its own seed: the number of random nodes of
// that layer before it. Without it a flip along both axes would draw the same numbers for both.
// Only nodes after the first have it; files do not store it.
inline constexpr std::string_view kDrawOfSeed = "_draw_of_seed";

}  // namespace tpuest
