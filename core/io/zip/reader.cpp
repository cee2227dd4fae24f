// From the end: "PK\5\6", disks [2, 2], entries [2, 2], size and offset of the directory [4 each],
// comment [2 and as many]. If a number has all bits set, a locator "PK\6\7" before it leads to
// "PK\6\6" with numbers of eight bytes. The directory: "PK\1\2", versions [2, 2], flags [2], method
// [2], time [4], crc [4], packed size [4], size [4], sizes of name, extra, comment [2 each], disk
// [2], attributes [2, 4], offset of the member [4]; then name, extra and comment. Extra field 1 has
// the numbers of eight bytes.

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/io/wire.h"
#include "core/io/zip/zip.h"

namespace tpuest {
namespace {

constexpr uint32_t kMemberSignature = 0x04034B50;
constexpr uint32_t kEntrySignature = 0x02014B50;
constexpr uint32_t kEndSignature = 0x06054B50;
constexpr uint32_t kEnd64Signature = 0x06064B50;
constexpr uint32_t kLocatorSignature = 0x07064B50;
constexpr uint64_t kEndSize = 22;
constexpr uint64_t kEntrySize = 46;
constexpr uint64_t kMemberSize = 30;
// A member that inflates to more than this, and to more than kMostGrowth times its packed size,
// cannot be part of a model.
constexpr uint64_t kMostSize = uint64_t{64} << 20;
constexpr uint64_t kMostGrowth = 100;
constexpr uint64_t kMostDeflated = 1032;  // the most bytes that deflate makes from one

template <class T>
T WordAt(std::string_view bytes, size_t at) {
  return LoadLittle<T>(bytes.data() + at);
}

std::string Quoted(std::string_view name) {
  constexpr size_t kMostName = 200;
  std::string quoted;
  for (const char c : name.substr(0, kMostName)) quoted += c >= ' ' && c != 0x7F ? c : '?';
  return quoted;
}

uint32_t Crc(std::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

bool IsZip(std::string_view bytes) { return bytes.substr(0, 4) == "PK\x03\x04"; }

ZipReader::ZipReader(std::string name, std::string_view bytes, std::shared_ptr<const void> owner)
    : name_(std::move(name)), bytes_(bytes), owner_(std::move(owner)) {
  ReadDirectory(FindDirectory());
}

ZipReader::Directory ZipReader::FindDirectory() const {
  constexpr uint64_t kMostComment = 65535;
  const uint64_t size = bytes_.size();
  for (uint64_t back = kEndSize; back <= std::min(size, kEndSize + kMostComment); ++back) {
    const uint64_t at = size - back;
    const std::string_view end = bytes_.substr(at);
    if (WordAt<uint32_t>(end, 0) != kEndSignature) continue;
    if (WordAt<uint16_t>(end, 20) + kEndSize != back) continue;  // the bytes are part of a comment
    Directory found{.entries = WordAt<uint16_t>(end, 10),
                    .size = WordAt<uint32_t>(end, 12),
                    .begin = WordAt<uint32_t>(end, 16)};
    if (at < 20 || WordAt<uint32_t>(bytes_, at - 20) != kLocatorSignature) return found;
    const std::string_view end64 = At(WordAt<uint64_t>(bytes_, at - 12), 56, "its end");
    if (WordAt<uint32_t>(end64, 0) != kEnd64Signature) Fault("", "damaged: its end is missing");
    return {.entries = WordAt<uint64_t>(end64, 32),
            .size = WordAt<uint64_t>(end64, 40),
            .begin = WordAt<uint64_t>(end64, 48)};
  }
  Fault("", "cut: the end of the archive is missing", "copy or download the file again");
}

void ZipReader::ReadDirectory(const Directory& directory) {
  std::string_view rest = At(directory.begin, directory.size, "its directory");
  while (!rest.empty()) {
    if (rest.size() < kEntrySize || WordAt<uint32_t>(rest, 0) != kEntrySignature) {
      Fault("", "damaged: its directory");
    }
    Member member{.flags = WordAt<uint16_t>(rest, 8),
                  .method = WordAt<uint16_t>(rest, 10),
                  .crc = WordAt<uint32_t>(rest, 16),
                  .packed_size = WordAt<uint32_t>(rest, 20),
                  .size = WordAt<uint32_t>(rest, 24),
                  .header = WordAt<uint32_t>(rest, 42)};
    const uint64_t name_size = WordAt<uint16_t>(rest, 28);
    const uint64_t extra_size = WordAt<uint16_t>(rest, 30);
    const uint64_t whole = kEntrySize + name_size + extra_size + WordAt<uint16_t>(rest, 32);
    if (whole > rest.size()) Fault("", "damaged: its directory");
    const std::string_view name = rest.substr(kEntrySize, name_size);
    std::string_view extra = rest.substr(kEntrySize + name_size, extra_size);
    rest.remove_prefix(whole);
    while (extra.size() >= 4) {
      const uint16_t id = WordAt<uint16_t>(extra, 0);
      std::string_view field = extra.substr(4, WordAt<uint16_t>(extra, 2));
      extra.remove_prefix(4 + field.size());
      if (id != 1) continue;
      for (uint64_t* number : {&member.size, &member.packed_size, &member.header}) {
        if (*number != 0xFFFFFFFF) continue;
        if (field.size() < 8) Fault(name, "damaged: its sizes");
        *number = WordAt<uint64_t>(field, 0);
        field.remove_prefix(8);
      }
    }
    if (!members_.emplace(name, member).second) Fault(name, "is in the archive twice");
  }
  if (members_.size() != directory.entries) {
    Fault("", fmt::format("damaged: {} members, and {} were written", members_.size(),
                          directory.entries));
  }
}

std::vector<std::string> ZipReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  return names;
}

bool ZipReader::Has(std::string_view member) const { return members_.count(member) != 0; }

ZipData ZipReader::Read(std::string_view member) const {
  const auto found = members_.find(member);
  if (found == members_.end()) Fault(member, "is not in the archive");
  const Member& entry = found->second;
  if ((entry.flags & 1U) != 0) Fault(member, "is encrypted");
  const std::string_view head = At(entry.header, kMemberSize, member);
  if (WordAt<uint32_t>(head, 0) != kMemberSignature) Fault(member, "damaged: its beginning");
  const uint64_t begin =
      entry.header + kMemberSize + WordAt<uint16_t>(head, 26) + WordAt<uint16_t>(head, 28);
  const std::string_view packed = At(begin, entry.packed_size, member);
  ZipData data{.bytes = packed, .owner = owner_};
  if (entry.method == 8) {
    auto unpacked = std::make_shared<const std::string>(Inflated(member, entry, packed));
    data = {.bytes = *unpacked, .owner = unpacked};
  } else if (entry.method != 0) {
    Fault(member,
          fmt::format("is packed by method {}; stored and deflated ones are read", entry.method));
  } else if (entry.size != entry.packed_size) {
    Fault(member, fmt::format("damaged: {} bytes are stored as {}", entry.size, entry.packed_size));
  }
  if (const uint32_t crc = Crc(data.bytes); crc != entry.crc) {
    Fault(member, fmt::format("damaged (crc {:08x}, stored {:08x})", crc, entry.crc));
  }
  return data;
}

std::string ZipReader::Inflated(std::string_view member, const Member& entry,
                                std::string_view packed) const {
  if (entry.size > kMostDeflated * packed.size() + 64 ||
      (entry.size > kMostSize && entry.size / kMostGrowth > packed.size())) {
    Fault(member, fmt::format("says that {} bytes become {}", packed.size(), entry.size));
  }
  std::string out(entry.size, '\0');
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) Fault(member, "cannot be unpacked");
  // zlib counts in 32 bits.
  constexpr uint64_t kPiece = uint64_t{1} << 30;
  uint64_t in_at = 0;
  uint64_t out_at = 0;
  int result = Z_OK;
  while (result == Z_OK) {
    const uint64_t in_size = std::min(kPiece, packed.size() - in_at);
    const uint64_t out_size = std::min(kPiece, out.size() - out_at);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + in_at));
    stream.avail_in = static_cast<uInt>(in_size);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + out_at);
    stream.avail_out = static_cast<uInt>(out_size);
    result = ::inflate(&stream, Z_NO_FLUSH);
    in_at += in_size - stream.avail_in;
    out_at += out_size - stream.avail_out;
  }
  ::inflateEnd(&stream);
  if (result != Z_STREAM_END || out_at != out.size()) {
    Fault(member, "damaged: its packed bytes cannot be unpacked");
  }
  return out;
}

std::string_view ZipReader::At(uint64_t begin, uint64_t size, std::string_view what) const {
  if (begin > bytes_.size() || size > bytes_.size() - begin) {
    Fault(what, fmt::format("damaged: {} bytes at {}, and the archive has {}", size, begin,
                            bytes_.size()));
  }
  return bytes_.substr(begin, size);
}

void ZipReader::Fault(std::string_view member, std::string_view message, std::string hint) const {
  std::string place = name_ + ": ";
  if (!member.empty()) place += Quoted(member) + ": ";
  throw Error(Code::kData, place + std::string(message), std::move(hint));
}

}  // namespace tpuest
