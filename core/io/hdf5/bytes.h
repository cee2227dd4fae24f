#pragma once
// The bytes of an HDF5 file and the numbers in them. Private to the reader.
//
// Addresses count from the superblock; an address with all bits set means "nowhere". Numbers are
// little-endian. Addresses and lengths have 8 bytes; other sizes, which no current program writes,
// are refused.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/io/wire.h"

namespace tpuest {

struct Hdf5Header;

inline constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);
inline constexpr uint64_t kNowhere = ~uint64_t{0};

class Hdf5Bytes {
 public:
  Hdf5Bytes(std::string name, std::string_view bytes, std::shared_ptr<const void> owner);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] uint64_t root() const { return root_; }
  // The bytes at an address. Throws an Error about the object at `path` if the file ends before
  // them.
  [[nodiscard]] std::string_view At(uint64_t address, uint64_t size, std::string_view path) const;
  // All bytes from an address to the end of the file.
  [[nodiscard]] std::string_view From(uint64_t address, std::string_view path) const;
  // Error kData: "model.h5: /dense: message".
  [[noreturn]] void Fault(std::string_view path, std::string_view message,
                          std::string hint = "") const;
  // Counts the bytes that the reader visits and throws if they are far more than the file has. A
  // sound file is walked a few times; structures that lead to each other in circles would keep a
  // reader busy for ever.
  void Spend(uint64_t bytes, std::string_view path) const;

  // The headers that have been read, by address.
  mutable std::map<uint64_t, std::shared_ptr<const Hdf5Header>> headers;

 private:
  void ReadSuperblock(uint64_t user_block);

  std::string name_;
  std::string_view bytes_;  // from the superblock on
  std::shared_ptr<const void> owner_;
  uint64_t root_ = kNowhere;
  mutable uint64_t budget_ = 0;
};

// Reads numbers from the start of some bytes. Throws an Error about the object at `path` if the
// bytes end.
class Hdf5Cursor {
 public:
  Hdf5Cursor(const Hdf5Bytes& file, std::string_view bytes, std::string_view path)
      : file_(&file), bytes_(bytes), path_(path) {}
  [[nodiscard]] std::string_view Take(uint64_t size);
  void Skip(uint64_t size) { static_cast<void>(Take(size)); }
  template <class T>
  [[nodiscard]] T Word() {
    return LoadLittle<T>(Take(sizeof(T)).data());
  }
  [[nodiscard]] uint8_t U8() { return Word<uint8_t>(); }
  [[nodiscard]] uint16_t U16() { return Word<uint16_t>(); }
  [[nodiscard]] uint32_t U32() { return Word<uint32_t>(); }
  [[nodiscard]] uint64_t U64() { return Word<uint64_t>(); }
  // A number of `size` bytes, at most 8.
  [[nodiscard]] uint64_t Unsigned(uint64_t size);
  // Throws an Error if the next four bytes are not `signature`.
  void Expect(std::string_view signature);
  [[nodiscard]] uint64_t left() const { return bytes_.size(); }
  [[nodiscard]] std::string_view rest() const { return bytes_; }

 private:
  const Hdf5Bytes* file_;
  std::string_view bytes_;
  std::string_view path_;
};

// Bob Jenkins' lookup3, the checksum at the end of the newer structures.
[[nodiscard]] uint32_t Hdf5Checksum(std::string_view bytes);
// Throws an Error if the last four bytes are not the checksum of the bytes before them.
void CheckHdf5Sum(const Hdf5Bytes& file, std::string_view bytes, std::string_view path);

}  // namespace tpuest
