#pragma once
// Little-endian words and varints, the building blocks of TensorFlow's files and of protobuf's
// encoding.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace tpuest {

static_assert(std::endian::native == std::endian::little, "files are read and written in place");

template <class T>
[[nodiscard]] T LoadLittle(const char* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void AppendLittle(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// The layout of a protobuf field: the low three bits of its tag.
enum WireType : uint32_t { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

// A varint has seven bits per byte, the low ones first; the top bit is set in all bytes but the
// last.
inline void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

// Takes a varint from the front of `bytes`. Returns false, and leaves `bytes` unchanged, if there
// is none of at most 10 bytes.
[[nodiscard]] inline bool TakeVarint(std::string_view& bytes, uint64_t& value) {
  if (!bytes.empty() && static_cast<unsigned char>(bytes[0]) < 0x80) [[likely]] {
    value = static_cast<unsigned char>(bytes[0]);
    bytes.remove_prefix(1);
    return true;
  }
  uint64_t result = 0;
  for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const uint64_t byte = static_cast<unsigned char>(bytes[i]);
    result |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) {
      value = result;
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

// Takes `size` bytes from the front; returns false if there are fewer.
[[nodiscard]] inline bool TakeBytes(std::string_view& bytes, uint64_t size,
                                    std::string_view& taken) {
  if (size > bytes.size()) return false;
  taken = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

}  // namespace tpuest
