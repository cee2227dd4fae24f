#pragma once
// Counter-based random numbers (Philox4x32-10, Salmon et al. 2011, by Random123): a random tensor
// is a pure function of a key and of each element's position, so any slice of it can be computed
// independently, in any order, on any machine.

#include <array>
#include <cstdint>

namespace tpuest {

// The key identifies the consumer of the numbers: the run's seed and a fingerprint of the
// consumer's name.
struct RandomKey {
  uint64_t seed = 0;
  uint64_t name = 0;
};

// The 64 bits of a Philox key: name XOR (seed * 0x9E3779B97F4A7C15).
[[nodiscard]] uint64_t MixedKey(RandomKey key);

// The name in the key of an op with its own seed: ops with the same pair draw the same numbers in a
// run. In TensorFlow's terms `seed` is the graph's seed and `seed2` the op's.
[[nodiscard]] uint64_t SeedName(uint64_t seed, uint64_t seed2);

// Four random words for counter (step, index) under MixedKey; the counter's words are index low,
// index high, step low, step high. Element i of a random tensor takes lane i % 4 of counter i / 4.
[[nodiscard]] std::array<uint32_t, 4> Philox(RandomKey key, uint64_t step, uint64_t index);

// Uniform in [0, 1): the upper 23 bits of the word as a float's mantissa, as TensorFlow does it.
[[nodiscard]] inline float UniformFloat(uint32_t word) {
  return static_cast<float>(word >> 9) * 0x1p-23F;
}

// An exact pseudo-random permutation of 0..size-1 with constant state: a Feistel network in mixed
// radix (Black and Rogaway 2002) of six Philox rounds, with cycle walking. index < size <= 2^62.
[[nodiscard]] uint64_t Permute(RandomKey key, uint64_t epoch, uint64_t index, uint64_t size);

}  // namespace tpuest
