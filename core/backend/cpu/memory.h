#pragma once
// Lays buffers with known lifetimes out in one arena, so that buffers that do not live at the same
// time share memory.

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

// Largest buffers first, each at the lowest offset where nothing that lives at the same time is.
[[nodiscard]] ArenaLayout LayOut(const std::vector<Lifetime>& buffers);

}  // namespace tpuest
