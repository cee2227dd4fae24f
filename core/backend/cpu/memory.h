#pragma once
// Lays out buffers with known lifetimes in one arena. Buffers that do not live at the same time
// share memory.

#include <cstddef>
#include <vector>

namespace tpuest {

struct Lifetime {
  size_t bytes = 0;
  int first = 0;  // positions in the program, both inclusive
  int last = 0;
};

struct ArenaLayout {
  std::vector<size_t> offsets;  // multiples of 64
  size_t bytes = 0;
};

// Places the largest buffers first, each at the lowest offset that no buffer alive at the same time
// occupies.
[[nodiscard]] ArenaLayout LayOut(const std::vector<Lifetime>& buffers);

}  // namespace tpuest
