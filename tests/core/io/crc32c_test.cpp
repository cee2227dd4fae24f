#include "core/io/crc32c.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "core/base/random.h"

namespace tpuest {
namespace {

std::string Noise(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(Philox({1, 2}, 3, i)[0]);
  return bytes;
}

}  // namespace

TEST_CASE("CRC-32C gives the vectors of RFC 3720") {
  std::string ascending(32, '\0');
  for (size_t i = 0; i < 32; ++i) ascending[i] = static_cast<char>(i);
  const std::string descending(ascending.rbegin(), ascending.rend());
  for (const auto crc : {Crc32c, Crc32cPortable}) {
    CHECK(crc(std::string(32, '\0'), 0) == 0x8a9136aa);
    CHECK(crc(std::string(32, '\xFF'), 0) == 0x62a8ab43);
    CHECK(crc(ascending, 0) == 0x46dd794e);
    CHECK(crc(descending, 0) == 0x113fdb5c);
    CHECK(crc("123456789", 0) == 0xe3069283);
    CHECK(crc("", 0) == 0);
  }
}

TEST_CASE("the instruction gives what the tables give, at every length") {
  const std::string bytes = Noise(20000);
  size_t differ = 0;
  for (size_t size = 0; size < 1000; ++size) {
    const std::string_view part = std::string_view(bytes).substr(size % 13, size);
    differ += Crc32c(part) != Crc32cPortable(part);
  }
  for (const size_t size : {6143, 6144, 6145, 6336, 12288, 12500, 19999}) {
    const std::string_view part = std::string_view(bytes).substr(1, size);
    differ += Crc32c(part) != Crc32cPortable(part);
  }
  CHECK(differ == 0);
}

TEST_CASE("a CRC continues from the CRC of the preceding bytes") {
  const std::string bytes = Noise(1000);
  const uint32_t whole = Crc32c(bytes);
  for (const size_t at : {0, 1, 7, 500, 999, 1000}) {
    const std::string_view view = bytes;
    CHECK(Crc32c(view.substr(at), Crc32c(view.substr(0, at))) == whole);
  }
}

TEST_CASE("masking is undone by unmasking and differs from the CRC") {
  CHECK(MaskCrc(0) == 0xa282ead8);
  CHECK(UnmaskCrc(MaskCrc(0x8a9136aa)) == 0x8a9136aa);
  CHECK(MaskCrc(0x8a9136aa) != 0x8a9136aa);
}

}  // namespace tpuest
