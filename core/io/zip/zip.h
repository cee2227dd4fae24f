#pragma once
// Reads and writes zip archives: finds members by the central directory, stored or deflated, also
// in ZIP64. Every fault is an Error kData that begins with the archive's name and the member's
// name.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tpuest {

// Bytes and their owner.
struct ZipData {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

[[nodiscard]] bool IsZip(std::string_view bytes);

class ZipReader {
 public:
  // `owner` keeps `bytes` alive; `name` is what messages call the archive.
  ZipReader(std::string name, std::string_view bytes, std::shared_ptr<const void> owner);
  // Sorted.
  [[nodiscard]] std::vector<std::string> Names() const;
  [[nodiscard]] bool Has(std::string_view member) const;
  // Returns a member's bytes after verifying their checksum. The bytes of a stored member are a
  // view into the archive.
  [[nodiscard]] ZipData Read(std::string_view member) const;

 private:
  struct Member {
    uint16_t flags;
    uint16_t method;
    uint32_t crc;
    uint64_t packed_size;
    uint64_t size;
    uint64_t header;  // offset of the header that precedes the member's bytes
  };
  struct Directory {
    uint64_t entries;
    uint64_t size;
    uint64_t begin;
  };
  [[nodiscard]] Directory FindDirectory() const;
  void ReadDirectory(const Directory& directory);
  [[nodiscard]] std::string_view At(uint64_t begin, uint64_t size, std::string_view what) const;
  [[nodiscard]] std::string Inflated(std::string_view member, const Member& entry,
                                     std::string_view packed) const;
  [[noreturn]] void Fault(std::string_view member, std::string_view message,
                          std::string hint = "") const;

  std::string name_;
  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
  std::map<std::string, Member, std::less<>> members_;
};

// Makes an archive of these members (name, bytes) in this order, stored without compression, all
// with the format's first date.
[[nodiscard]] std::string ZipArchive(
    const std::vector<std::pair<std::string, std::string_view>>& members);

}  // namespace tpuest
