#include <zlib.h>

#include "core/base/error.h"
#include "core/io/wire.h"
#include "core/io/zip/zip.h"

namespace tpuest {
namespace {

constexpr uint64_t kMost32 = 0xFFFFFFFE;     // the largest number that four bytes may store
constexpr uint32_t kFirstDate = 0x00210000;  // 1980-01-01, 00:00

struct Written {
  std::string_view name;
  uint64_t size;
  uint32_t crc;
  uint64_t begin;
};

// Appends the fields that a member and its entry in the directory share, which follow their
// versions.
void AppendCommon(std::string& out, const Written& member, uint16_t extra_size) {
  AppendLittle<uint16_t>(out, 0x0800);  // names are UTF-8
  AppendLittle<uint16_t>(out, 0);       // stored
  AppendLittle(out, kFirstDate);
  AppendLittle(out, member.crc);
  const auto size = static_cast<uint32_t>(extra_size > 0 ? 0xFFFFFFFF : member.size);
  AppendLittle(out, size);
  AppendLittle(out, size);
  AppendLittle(out, static_cast<uint16_t>(member.name.size()));
  AppendLittle(out, extra_size);
}

constexpr uint16_t kVersion = 45;  // ZIP64
constexpr uint16_t kSizesField = 20;
constexpr uint16_t kWholeField = 28;

void AppendField(std::string& out, const Written& member, bool with_begin) {
  AppendLittle<uint16_t>(out, 1);
  AppendLittle<uint16_t>(out, with_begin ? kWholeField - 4 : kSizesField - 4);
  AppendLittle(out, member.size);
  AppendLittle(out, member.size);
  if (with_begin) AppendLittle(out, member.begin);
}

void AppendMember(std::string& out, const Written& member, std::string_view bytes) {
  const bool large = member.size > kMost32;
  AppendLittle<uint32_t>(out, 0x04034B50);
  AppendLittle(out, kVersion);
  AppendCommon(out, member, large ? kSizesField : 0);
  out += member.name;
  if (large) AppendField(out, member, false);
  out += bytes;
}

void AppendEntry(std::string& out, const Written& member) {
  const bool large = member.size > kMost32 || member.begin > kMost32;
  AppendLittle<uint32_t>(out, 0x02014B50);
  AppendLittle(out, kVersion);
  AppendLittle(out, kVersion);
  AppendCommon(out, member, large ? kWholeField : 0);
  AppendLittle<uint16_t>(out, 0);  // comment
  AppendLittle<uint16_t>(out, 0);  // disk
  AppendLittle<uint16_t>(out, 0);  // attributes
  AppendLittle<uint32_t>(out, 0);
  AppendLittle(out, static_cast<uint32_t>(large ? 0xFFFFFFFF : member.begin));
  out += member.name;
  if (large) AppendField(out, member, true);
}

void AppendEnd(std::string& out, uint64_t entries, uint64_t begin) {
  const uint64_t size = out.size() - begin;
  const uint64_t end64 = out.size();
  const bool large = begin > kMost32 || size > kMost32;
  if (large) {
    AppendLittle<uint32_t>(out, 0x06064B50);
    AppendLittle<uint64_t>(out, 44);  // bytes that follow
    AppendLittle(out, kVersion);
    AppendLittle(out, kVersion);
    AppendLittle<uint64_t>(out, 0);  // disks
    for (const uint64_t number : {entries, entries, size, begin}) AppendLittle(out, number);
    AppendLittle<uint32_t>(out, 0x07064B50);
    AppendLittle<uint32_t>(out, 0);
    AppendLittle(out, end64);
    AppendLittle<uint32_t>(out, 1);
  }
  AppendLittle<uint32_t>(out, 0x06054B50);
  AppendLittle<uint32_t>(out, 0);  // disks
  AppendLittle(out, static_cast<uint16_t>(entries));
  AppendLittle(out, static_cast<uint16_t>(entries));
  AppendLittle(out, static_cast<uint32_t>(large ? 0xFFFFFFFF : size));
  AppendLittle(out, static_cast<uint32_t>(large ? 0xFFFFFFFF : begin));
  AppendLittle<uint16_t>(out, 0);
}

}  // namespace

std::string ZipArchive(const std::vector<std::pair<std::string, std::string_view>>& members) {
  Check(members.size() < 0xFFFF);
  std::string out;
  std::vector<Written> written;
  for (const auto& [name, bytes] : members) {
    Check(name.size() < 0xFFFF);
    const auto crc = static_cast<uint32_t>(
        ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
    written.push_back({.name = name, .size = bytes.size(), .crc = crc, .begin = out.size()});
    AppendMember(out, written.back(), bytes);
  }
  const uint64_t begin = out.size();
  for (const Written& member : written) AppendEntry(out, member);
  AppendEnd(out, written.size(), begin);
  return out;
}

}  // namespace tpuest
