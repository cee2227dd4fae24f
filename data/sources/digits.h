#pragma once
// Generates images that look like handwritten digits: strokes through jittered points, then random
// slant, rotation, scale, shift, pen width and noise. Uses only +, -, *, / and sqrt, so every
// machine draws the same bytes.

#include <cstdint>
#include <span>

namespace tpuest::data {

inline constexpr int kDigitSide = 28;
inline constexpr int kDigitPixels = kDigitSide * kDigitSide;

// Draws digit number `index` of `seed` row by row, 0 background to 255 ink, and returns its label
// 0..9.
[[nodiscard]] int32_t DrawDigit(uint64_t seed, int64_t index,
                                std::span<uint8_t, kDigitPixels> pixels);

}  // namespace tpuest::data
