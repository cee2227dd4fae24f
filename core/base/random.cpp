#include "core/base/random.h"

#include <Random123/philox.h>

#include <bit>

namespace tpuest {

std::array<uint32_t, 4> Philox(RandomKey key, uint64_t step, uint64_t index) {
  const uint64_t mixed = key.name ^ (key.seed * 0x9E3779B97F4A7C15ULL);
  const r123::Philox4x32::key_type k = {
      {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)}};
  const r123::Philox4x32::ctr_type c = {
      {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
       static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)}};
  const r123::Philox4x32::ctr_type r = r123::Philox4x32()(c, k);
  return {r[0], r[1], r[2], r[3]};
}

uint32_t RandomWord(RandomKey key, uint64_t step, uint64_t element) {
  return Philox(key, step, element / 4)[element % 4];
}

uint64_t Permute(RandomKey key, uint64_t epoch, uint64_t index, uint64_t size) {
  if (size < 2) return index;
  // Two halves of `half` bits cover size; a walk leaves the domain at most 3 times in 4.
  const int bits = std::bit_width(size - 1);
  const int half = (bits + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = index >> half;
    uint64_t right = index & mask;
    for (uint64_t round = 0; round < 6; ++round) {
      const uint64_t f = Philox(key, epoch, (round << 56) ^ right)[0] & mask;
      const uint64_t next = left ^ f;
      left = right;
      right = next;
    }
    index = (left << half) | right;
  } while (index >= size);
  return index;
}

}  // namespace tpuest
