#include "core/io/crc32c.h"

#include <array>
#include <cstring>

#include "core/io/wire.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tpuest {
namespace {

// The polynomial, lowest power in the highest bit.
constexpr uint32_t kPolynomial = 0x82F63B78;

// The product with x, in that bit order, modulo the polynomial.
constexpr uint32_t TimesX(uint32_t value) {
  return (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
}

// kTables[k][b]: what byte b adds to the state when k more bytes follow it.
constexpr std::array<std::array<uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = TimesX(state);
    tables[0][byte] = state;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}
constexpr auto kTables = MakeTables();

uint32_t ExtendByTables(uint32_t state, const char* at, size_t size) {
  for (; size >= 8; size -= 8, at += 8) {
    const uint64_t word = LoadLittle<uint64_t>(at) ^ state;
    state = 0;
    for (size_t k = 0; k < 8; ++k) state ^= kTables[7 - k][(word >> (8 * k)) & 0xFF];
  }
  for (; size > 0; --size, ++at) {
    state = (state >> 8) ^ kTables[0][(state ^ static_cast<unsigned char>(*at)) & 0xFF];
  }
  return state;
}

#if defined(__x86_64__)

// The instruction takes 3 cycles and starts every cycle, so three runs of words are processed at
// once. A run of k words that n words follow contributes its state times x^(64 n). The carry-less
// product of two bit-reversed 32-bit values is shifted by one bit, and _mm_crc32_u64 multiplies by
// x^32, hence x^(64 n - 33).
constexpr size_t kMaxRun = 256;

constexpr std::array<uint32_t, 2 * kMaxRun + 1> MakeShifts() {
  std::array<uint32_t, 2 * kMaxRun + 1> shifts{};
  uint32_t power = 0x80000000;  // x^0
  for (int i = 0; i < 31; ++i) power = TimesX(power);
  for (size_t n = 1; n < shifts.size(); ++n) {
    shifts[n] = power;
    for (int i = 0; i < 64; ++i) power = TimesX(power);
  }
  return shifts;
}
constexpr auto kShifts = MakeShifts();

__attribute__((target("sse4.2,pclmul"))) uint64_t Shifted(uint64_t state, size_t words) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<int64_t>(state)),
                           _mm_cvtsi64_si128(static_cast<int64_t>(kShifts[words])), 0);
  return _mm_crc32_u64(0, static_cast<uint64_t>(_mm_cvtsi128_si64(product)));
}

__attribute__((target("sse4.2,pclmul"))) uint32_t ExtendByInstruction(uint32_t before,
                                                                      const char* at, size_t size) {
  uint64_t state = before;
  while (size >= 24 * 8) {
    const size_t run = size / 24 < kMaxRun ? size / 24 : kMaxRun;
    const char* const second = at + 8 * run;
    const char* const third = second + 8 * run;
    uint64_t b = 0;
    uint64_t c = 0;
    for (size_t i = 0; i < 8 * run; i += 8) {
      state = _mm_crc32_u64(state, LoadLittle<uint64_t>(at + i));
      b = _mm_crc32_u64(b, LoadLittle<uint64_t>(second + i));
      c = _mm_crc32_u64(c, LoadLittle<uint64_t>(third + i));
    }
    state = Shifted(state, 2 * run) ^ Shifted(b, run) ^ c;
    at += 24 * run;
    size -= 24 * run;
  }
  for (; size >= 8; size -= 8, at += 8) state = _mm_crc32_u64(state, LoadLittle<uint64_t>(at));
  auto narrow = static_cast<uint32_t>(state);
  for (; size > 0; --size, ++at) narrow = _mm_crc32_u8(narrow, static_cast<unsigned char>(*at));
  return narrow;
}

bool HasInstruction() {
#if defined(__SSE4_2__) && defined(__PCLMUL__)
  return true;
#else
  static const bool has = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
  return has;
#endif
}

#endif

}  // namespace

uint32_t Crc32cPortable(std::string_view bytes, uint32_t before) {
  return ~ExtendByTables(~before, bytes.data(), bytes.size());
}

uint32_t Crc32c(std::string_view bytes, uint32_t before) {
#if defined(__x86_64__)
  if (HasInstruction()) return ~ExtendByInstruction(~before, bytes.data(), bytes.size());
#endif
  return Crc32cPortable(bytes, before);
}

}  // namespace tpuest
