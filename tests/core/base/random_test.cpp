#include "core/base/random.h"

#include <doctest/doctest.h>

#include <vector>

namespace tpuest {

TEST_CASE("Philox4x32-10 gives the published vectors") {
  // Random123's known-answer test for key 0, counter 0.
  CHECK(Philox({0, 0}, 0, 0) ==
        std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  // All ones: the pair of key words comes only from the name, because seed 0 adds nothing.
  CHECK(Philox({0, ~uint64_t{0}}, ~uint64_t{0}, ~uint64_t{0}) ==
        std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("a permutation visits every index once and differs by epoch") {
  for (const uint64_t size : {1, 2, 3, 5, 64, 1000, 1001, 33000}) {
    std::vector<int> seen(size);
    for (uint64_t i = 0; i < size; ++i) ++seen[Permute({1, 2}, 0, i, size)];
    CHECK(seen == std::vector<int>(size, 1));
  }
  int moved = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    moved += Permute({1, 2}, 0, i, 1000) != Permute({1, 2}, 1, i, 1000);
  }
  CHECK(moved > 900);
}

}  // namespace tpuest
