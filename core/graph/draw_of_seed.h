#pragma once

#include <string_view>

namespace tpuest {

// An attribute (int) of a random node that is not the first to draw by a seed of its own within a
// layer: how many draw before it. Without it a flip that draws for both axes would draw the same
// for both. No file has it.
inline constexpr std::string_view kDrawOfSeed = "_draw_of_seed";

}  // namespace tpuest
