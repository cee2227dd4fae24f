#include "core/io/slice_key.h"

#include <array>
#include <bit>

namespace tpuest {
namespace {

// Writes a number big-endian without leading zeros, after the count of its bytes.
void AppendUnsigned(std::string& key, uint64_t value) {
  const int bytes = (std::bit_width(value) + 7) / 8;
  key.push_back(static_cast<char>(bytes));
  for (int i = bytes - 1; i >= 0; --i) key.push_back(static_cast<char>(value >> (8 * i)));
}

// Writes 0x00 as 0x00 0xff and 0xff as 0xff 0x00; 0x00 0x01, below both, ends the string, so that a
// prefix sorts first.
void AppendEscaped(std::string& key, std::string_view text) {
  for (const char c : text) {
    key.push_back(c);
    if (c == '\0') key.push_back('\xFF');
    if (c == '\xFF') key.push_back('\0');
  }
  key.append("\0\1", 2);
}

// Writes two's complement, big-endian, in the n bytes that hold 7 n bits and the sign; the top n
// bits, the sign among them, are flipped by n ones, so that larger magnitudes sort further out.
void AppendSigned(std::string& key, int64_t value) {
  const auto magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  const int n = std::bit_width(magnitude) / 7 + 1;
  std::array<unsigned char, 10> bytes{};
  for (int i = 0; i < n; ++i) {
    const int shift = 8 * i < 63 ? 8 * i : 63;
    bytes[static_cast<size_t>(n - 1 - i)] = static_cast<unsigned char>(value >> shift);
  }
  for (int bit = 0; bit < n; ++bit) bytes[static_cast<size_t>(bit / 8)] ^= 0x80U >> (bit % 8);
  key.append(reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(n));
}

}  // namespace

std::string SliceKey(std::string_view name, const std::vector<SliceExtent>& slice) {
  std::string key;
  AppendUnsigned(key, 0);
  AppendEscaped(key, name);
  AppendUnsigned(key, slice.size());
  for (const SliceExtent& extent : slice) {
    AppendSigned(key, extent.start);
    AppendSigned(key, extent.length);
  }
  return key;
}

}  // namespace tpuest
