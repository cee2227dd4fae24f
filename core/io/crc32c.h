#pragma once
// CRC-32C (Castagnoli, polynomial 0x1EDC6F41; RFC 3720 appendix B.4), and the masked form in which
// TensorFlow's files store it.

#include <cstdint>
#include <string_view>

namespace tpuest {

// Returns the CRC of `bytes`. Given the CRC of the bytes before them, returns the CRC of both
// together.
[[nodiscard]] uint32_t Crc32c(std::string_view bytes, uint32_t before = 0);

// Returns the same as Crc32c using only tables, for machines without the instruction.
[[nodiscard]] uint32_t Crc32cPortable(std::string_view bytes, uint32_t before = 0);

// Masks a CRC for storage in a file: rotates it right by 15 bits and adds 0xa282ead8, because the
// CRC of bytes that contain CRCs is weak.
[[nodiscard]] constexpr uint32_t MaskCrc(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}
[[nodiscard]] constexpr uint32_t UnmaskCrc(uint32_t masked) {
  const uint32_t rotated = masked - 0xa282ead8U;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace tpuest
