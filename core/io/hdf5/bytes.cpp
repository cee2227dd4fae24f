#include "core/io/hdf5/bytes.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <utility>

#include "core/base/error.h"
#include "core/io/hdf5/hdf5.h"

namespace tpuest {
namespace {

// Finds the start of the superblock: 0, or 512, 1024, 2048, ... after a user block.
size_t FindSuperblock(std::string_view bytes) {
  for (size_t at = 0; at + kHdf5Signature.size() <= bytes.size(); at = at == 0 ? 512 : 2 * at) {
    if (bytes.substr(at, kHdf5Signature.size()) == kHdf5Signature) return at;
  }
  return std::string_view::npos;
}

}  // namespace

bool IsHdf5(std::string_view bytes) { return FindSuperblock(bytes) != std::string_view::npos; }

Hdf5Bytes::Hdf5Bytes(std::string name, std::string_view bytes, std::shared_ptr<const void> owner)
    : name_(std::move(name)), bytes_(bytes), owner_(std::move(owner)) {
  const size_t begin = FindSuperblock(bytes_);
  if (begin == std::string_view::npos) Fault("", "no HDF5 file: its signature is missing");
  bytes_.remove_prefix(begin);
  const uint64_t user_block = begin;
  budget_ = (uint64_t{64} << 20) + 64 * static_cast<uint64_t>(bytes_.size());
  ReadSuperblock(user_block);
}

// Superblock 0: versions, K of leaves and of inner nodes, flags; base address, free space, end of
// file, driver; then the root's entry, whose second word is its address. Version 1 has four more
// bytes before the addresses. Versions 2 and 3: base address, extension, end of file, root,
// checksum.
void Hdf5Bytes::ReadSuperblock(uint64_t user_block) {
  Hdf5Cursor cursor(*this, bytes_, "");
  cursor.Skip(kHdf5Signature.size());
  const unsigned version = cursor.U8();
  if (version > 3) Fault("", fmt::format("superblock of version {}; 0 to 3 are known", version));
  if (version < 2) cursor.Skip(4);
  const unsigned offset_size = cursor.U8();
  const unsigned length_size = cursor.U8();
  if (offset_size != 8 || length_size != 8) {
    Fault("", fmt::format("addresses of {} and lengths of {} bytes; 8 are expected", offset_size,
                          length_size));
  }
  cursor.Skip(version == 0 ? 9 : version == 1 ? 13 : 1);
  cursor.Skip(16);
  const uint64_t end = cursor.U64();  // counted from the start of the file
  if (version < 2) cursor.Skip(16);
  root_ = cursor.U64();
  if (version >= 2) CheckHdf5Sum(*this, bytes_.substr(0, 48), "");
  if (end > user_block + bytes_.size()) {
    Fault("", fmt::format("cut: {} bytes, and {} were written", user_block + bytes_.size(), end),
          "copy or download the file again");
  }
}

std::string_view Hdf5Bytes::At(uint64_t address, uint64_t size, std::string_view path) const {
  if (address > bytes_.size() || size > bytes_.size() - address) {
    Fault(path, address == kNowhere ? std::string("damaged: a part of it is nowhere")
                                    : fmt::format("damaged: {} bytes at {}, and the file has {}",
                                                  size, address, bytes_.size()));
  }
  return bytes_.substr(address, size);
}

std::string_view Hdf5Bytes::From(uint64_t address, std::string_view path) const {
  return At(address, address > bytes_.size() ? 1 : bytes_.size() - address, path);
}

void Hdf5Bytes::Fault(std::string_view path, std::string_view message, std::string hint) const {
  // A path in an error is cut to this length, because a damaged file may contain a path of any
  // length.
  constexpr size_t kMostPath = 400;
  std::string place = name_ + ": ";
  if (!path.empty()) {
    place += path.substr(0, kMostPath);
    if (path.size() > kMostPath) place += "...";
    place += ": ";
  }
  throw Error(Code::kData, place + std::string(message), std::move(hint));
}

void Hdf5Bytes::Spend(uint64_t bytes, std::string_view path) const {
  if (bytes > budget_) Fault(path, "damaged: its parts lead to each other without an end");
  budget_ -= bytes;
}

std::string_view Hdf5Cursor::Take(uint64_t size) {
  if (size > bytes_.size()) {
    file_->Fault(path_, fmt::format("damaged: {} bytes are left where {} are expected",
                                    bytes_.size(), size));
  }
  const std::string_view taken = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return taken;
}

uint64_t Hdf5Cursor::Unsigned(uint64_t size) {
  const std::string_view bytes = Take(size);
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

void Hdf5Cursor::Expect(std::string_view signature) {
  if (Take(signature.size()) != signature) {
    file_->Fault(path_, fmt::format("damaged: no \"{}\" where one is expected", signature));
  }
}

uint32_t Hdf5Checksum(std::string_view bytes) {
  std::array<uint32_t, 3> state{};
  auto& [a, b, c] = state;
  a = b = c = 0xDEADBEEF + static_cast<uint32_t>(bytes.size());
  const auto add = [&](std::string_view block) {  // at most 12 bytes
    for (size_t i = 0; i < block.size(); ++i) {
      state.at(i / 4) += uint32_t{static_cast<unsigned char>(block[i])} << (8 * (i % 4));
    }
  };
  for (; bytes.size() > 12; bytes.remove_prefix(12)) {
    add(bytes.substr(0, 12));
    a -= c, a ^= std::rotl(c, 4), c += b;
    b -= a, b ^= std::rotl(a, 6), a += c;
    c -= b, c ^= std::rotl(b, 8), b += a;
    a -= c, a ^= std::rotl(c, 16), c += b;
    b -= a, b ^= std::rotl(a, 19), a += c;
    c -= b, c ^= std::rotl(b, 4), b += a;
  }
  if (bytes.empty()) return c;
  add(bytes);
  c ^= b, c -= std::rotl(b, 14);
  a ^= c, a -= std::rotl(c, 11);
  b ^= a, b -= std::rotl(a, 25);
  c ^= b, c -= std::rotl(b, 16);
  a ^= c, a -= std::rotl(c, 4);
  b ^= a, b -= std::rotl(a, 14);
  c ^= b, c -= std::rotl(b, 24);
  return c;
}

void CheckHdf5Sum(const Hdf5Bytes& file, std::string_view bytes, std::string_view path) {
  Hdf5Cursor stored(file, bytes, path);
  stored.Skip(bytes.size() < 4 ? 4 : bytes.size() - 4);
  const uint32_t expected = stored.U32();
  const uint32_t found = Hdf5Checksum(bytes.substr(0, bytes.size() - 4));
  if (found != expected) {
    file.Fault(path, fmt::format("damaged (checksum {:08x}, stored {:08x})", found, expected));
  }
}

}  // namespace tpuest
