#include "core/base/random.h"

#include <Random123/philox.h>

#include <cmath>

namespace tpuest {
namespace {

// The round function of Permute: Philox4x32-7, the fewest rounds that pass BigCrush.
class PermuteRound {
 public:
  PermuteRound(RandomKey key, uint64_t epoch)
      : key_{{static_cast<uint32_t>(MixedKey(key)), static_cast<uint32_t>(MixedKey(key) >> 32)}},
        epoch_(epoch) {}
  // A number in 0..limit-1, for limit up to 2^32: the upper half of word * limit (Lemire 2019), so
  // no division. Its bias of limit / 2^32 does no harm: any round function makes a permutation.
  uint64_t operator()(uint32_t round, uint64_t half, uint64_t limit) const {
    using Philox7 = r123::Philox4x32_R<7>;
    const Philox7::ctr_type counter = {{static_cast<uint32_t>(half), round,
                                        static_cast<uint32_t>(epoch_),
                                        static_cast<uint32_t>(epoch_ >> 32)}};
    return (uint64_t{Philox7()(counter, key_)[0]} * limit) >> 32;
  }

 private:
  r123::Philox4x32_R<7>::key_type key_;
  uint64_t epoch_;
};

uint64_t AddModulo(uint64_t x, uint64_t y, uint64_t modulus) {
  const uint64_t sum = x + y;
  return sum >= modulus ? sum - modulus : sum;
}

}  // namespace

uint64_t MixedKey(RandomKey key) { return key.name ^ (key.seed * 0x9E3779B97F4A7C15ULL); }

uint64_t SeedName(uint64_t seed, uint64_t seed2) {
  constexpr uint64_t kName = 0x5EED0F0905EED0F1ULL;
  const std::array<uint32_t, 4> words = Philox({.seed = seed, .name = kName}, 0, seed2);
  return uint64_t{words[1]} << 32 | words[0];
}

std::array<uint32_t, 4> Philox(RandomKey key, uint64_t step, uint64_t index) {
  const uint64_t mixed = MixedKey(key);
  const r123::Philox4x32::key_type k = {
      {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)}};
  const r123::Philox4x32::ctr_type c = {
      {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
       static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)}};
  const r123::Philox4x32::ctr_type r = r123::Philox4x32()(c, k);
  return {r[0], r[1], r[2], r[3]};
}

uint64_t Permute(RandomKey key, uint64_t epoch, uint64_t index, uint64_t size) {
  if (size < 2) return index;
  // index = left * b + right, with a * b barely over size: hardly ever a second walk.
  const auto a = static_cast<uint64_t>(std::ceil(std::sqrt(static_cast<double>(size))));
  const uint64_t b = (size + a - 1) / a;
  const PermuteRound round(key, epoch);
  do {
    uint64_t left = index / b;
    uint64_t right = index % b;
    for (uint32_t i = 0; i < 6; i += 2) {
      left = AddModulo(left, round(i, right, a), a);
      right = AddModulo(right, round(i + 1, left, b), b);
    }
    index = left * b + right;
  } while (index >= size);
  return index;
}

}  // namespace tpuest
