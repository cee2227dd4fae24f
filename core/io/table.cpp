#include "core/io/table.h"

#include <snappy.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/io/crc32c.h"
#include "core/io/wire.h"

namespace tpuest {
namespace {

constexpr uint64_t kMagic = 0xdb4775248b80fb57;
constexpr size_t kHandlesBytes = 40;  // two handles of two varints, padded with zeros
constexpr size_t kFooterBytes = kHandlesBytes + 8;
constexpr size_t kTrailerBytes = 5;  // compression, crc
constexpr char kPlain = 0;
constexpr char kSnappy = 1;

size_t CommonPrefix(std::string_view a, std::string_view b) {
  const auto [end, unused] =
      std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin());
  return static_cast<size_t>(end - a.begin());
}

// A short key >= `last` and < `next`, under which the index holds the block that ends with `last`.
std::string Separator(std::string_view last, std::string_view next) {
  const size_t common = CommonPrefix(last, next);
  if (common >= std::min(last.size(), next.size())) return std::string(last);
  const auto byte = static_cast<unsigned char>(last[common]);
  if (byte == 0xFF || byte + 1 >= static_cast<unsigned char>(next[common])) {
    return std::string(last);
  }
  std::string key(last.substr(0, common + 1));
  key.back() = static_cast<char>(byte + 1);
  return key;
}

// A short key >= `last`, for the last block.
std::string Successor(std::string_view last) {
  const size_t at = last.find_first_not_of('\xFF');
  if (at == std::string_view::npos) return std::string(last);
  std::string key(last.substr(0, at + 1));
  ++key.back();
  return key;
}

// The position of a block, without its trailer.
struct Handle {
  uint64_t offset = 0;
  uint64_t size = 0;
};

bool TakeHandle(std::string_view& bytes, Handle& handle) {
  return TakeVarint(bytes, handle.offset) && TakeVarint(bytes, handle.size);
}

// Reads a table; its errors name the file.
class Source {
 public:
  Source(const std::string& file, std::string_view bytes) : file_(file), bytes_(bytes) {}

  [[noreturn]] void Refuse(const std::string& what) const {
    throw Error(Code::kCheckpoint, fmt::format("{}: {}", file_, what));
  }

  // Checks every byte of the footer, and the meta index, which nothing else reads, so that any
  // changed byte is reported.
  [[nodiscard]] Handle IndexHandle() const {
    if (bytes_.size() < kFooterBytes) {
      Refuse(fmt::format("is cut short or no checkpoint index ({} bytes, at least {} expected)",
                         bytes_.size(), kFooterBytes));
    }
    std::string_view footer = bytes_.substr(bytes_.size() - kFooterBytes);
    const auto magic = LoadLittle<uint64_t>(footer.data() + kHandlesBytes);
    if (magic != kMagic) {
      Refuse(fmt::format("is cut short or no checkpoint index (ends in {:016x}, expected {:016x})",
                         magic, kMagic));
    }
    Handle meta_index;
    Handle index;
    footer = footer.substr(0, kHandlesBytes);
    if (!TakeHandle(footer, meta_index) || !TakeHandle(footer, index) ||
        footer.find_first_not_of('\0') != std::string_view::npos) {
      Refuse("has a damaged footer");
    }
    (void)ReadBlock(meta_index);
    return index;
  }

  // Returns the contents of a block after verifying its checksum.
  [[nodiscard]] std::string ReadBlock(const Handle& handle) const {
    const uint64_t room = bytes_.size() - kFooterBytes;
    if (handle.offset > room || handle.size > room - handle.offset ||
        room - handle.offset - handle.size < kTrailerBytes) {
      Refuse(fmt::format("has a block of {} bytes at byte {}, past its end", handle.size,
                         handle.offset));
    }
    const std::string_view contents = bytes_.substr(handle.offset, handle.size);
    const char* const trailer = contents.data() + contents.size();
    const uint32_t crc = Crc32c(bytes_.substr(handle.offset, handle.size + 1));
    const uint32_t stored = UnmaskCrc(LoadLittle<uint32_t>(trailer + 1));
    if (crc != stored) {
      Refuse(fmt::format("block at byte {} is damaged (crc {:08x}, stored {:08x})", handle.offset,
                         crc, stored));
    }
    if (*trailer == kPlain) return std::string(contents);
    if (*trailer != kSnappy) {
      Refuse(fmt::format("block at byte {} has unknown compression {}", handle.offset,
                         static_cast<int>(*trailer)));
    }
    return Inflate(contents, handle.offset);
  }

  // Calls visitor(key, value) for each entry of a block that lies at `offset`.
  template <class Visitor>
  void VisitBlock(std::string_view block, uint64_t offset, Visitor&& visitor) const {
    const auto damaged = [&] { Refuse(fmt::format("block at byte {} is malformed", offset)); };
    if (block.size() < 4) damaged();
    const uint64_t restarts = LoadLittle<uint32_t>(block.data() + block.size() - 4);
    if (restarts > (block.size() - 4) / 4) damaged();
    std::string_view rest = block.substr(0, block.size() - 4 - 4 * restarts);
    std::string key;
    while (!rest.empty()) {
      uint64_t shared = 0;
      uint64_t unshared = 0;
      uint64_t value_size = 0;
      std::string_view suffix;
      std::string_view value;
      if (!TakeVarint(rest, shared) || !TakeVarint(rest, unshared) ||
          !TakeVarint(rest, value_size) || shared > key.size() ||
          !TakeBytes(rest, unshared, suffix) || !TakeBytes(rest, value_size, value)) {
        damaged();
      }
      key.resize(shared);
      key += suffix;
      visitor(key, value);
    }
  }

 private:
  [[nodiscard]] std::string Inflate(std::string_view contents, uint64_t offset) const {
    std::string inflated;
    size_t size = 0;
    // Snappy copies at most 64 bytes for each 2 it stores, so a size of more than 64 times is
    // damage.
    if (!snappy::GetUncompressedLength(contents.data(), contents.size(), &size) ||
        size > 64 * contents.size() ||
        !snappy::Uncompress(contents.data(), contents.size(), &inflated)) {
      Refuse(fmt::format("block at byte {} is not valid snappy data", offset));
    }
    return inflated;
  }

  const std::string& file_;
  std::string_view bytes_;
};

}  // namespace

TableBuilder::TableBuilder(TableOptions options) : options_(options) {}

void TableBuilder::Block::Add(std::string_view key, std::string_view value, int restart_interval) {
  size_t shared = 0;
  if (since_restart < restart_interval) {
    shared = CommonPrefix(last_key, key);
  } else {
    restarts.push_back(static_cast<uint32_t>(bytes.size()));
    since_restart = 0;
  }
  AppendVarint(bytes, shared);
  AppendVarint(bytes, key.size() - shared);
  AppendVarint(bytes, value.size());
  bytes += key.substr(shared);
  bytes += value;
  last_key = key;
  ++since_restart;
}

std::string TableBuilder::Block::Finish() const {
  std::string contents = bytes;
  for (const uint32_t restart : restarts) AppendLittle(contents, restart);
  AppendLittle(contents, static_cast<uint32_t>(restarts.size()));
  return contents;
}

void TableBuilder::Add(std::string_view key, std::string_view value) {
  const bool first = bytes_.empty() && data_.bytes.empty();
  Check(first || last_key_ < key, "table keys must ascend: '{}' after '{}'", key, last_key_);
  if (!pending_handle_.empty()) {
    index_.Add(Separator(last_key_, key), pending_handle_, 1);
    pending_handle_.clear();
  }
  data_.Add(key, value, options_.restart_interval);
  last_key_ = key;
  if (data_.bytes.size() + 4 * data_.restarts.size() + 4 >= options_.block_size) EndBlock();
}

void TableBuilder::EndBlock() {
  if (data_.bytes.empty()) return;
  pending_handle_ = AppendBlock(data_.Finish());
  data_ = Block();
}

std::string TableBuilder::AppendBlock(const std::string& contents) {
  std::string handle;
  AppendVarint(handle, bytes_.size());
  const size_t start = bytes_.size();
  std::string squeezed;
  if (options_.snappy) snappy::Compress(contents.data(), contents.size(), &squeezed);
  // As in LevelDB, compression that saves less than an eighth is not worth its time.
  const bool worth = options_.snappy && squeezed.size() < contents.size() - contents.size() / 8;
  bytes_ += worth ? squeezed : contents;
  AppendVarint(handle, bytes_.size() - start);
  bytes_.push_back(worth ? kSnappy : kPlain);
  AppendLittle(bytes_, MaskCrc(Crc32c(std::string_view(bytes_).substr(start))));
  return handle;
}

std::string TableBuilder::Finish() {
  EndBlock();
  std::string footer = AppendBlock(Block().Finish());  // the meta index, which is always empty
  if (!pending_handle_.empty()) index_.Add(Successor(last_key_), pending_handle_, 1);
  footer += AppendBlock(index_.Finish());
  footer.resize(kHandlesBytes, '\0');
  AppendLittle(footer, kMagic);
  return bytes_ + footer;
}

std::vector<TableEntry> ReadTable(const std::string& file, std::string_view bytes) {
  const Source source(file, bytes);
  const Handle index_handle = source.IndexHandle();
  const std::string index = source.ReadBlock(index_handle);
  std::vector<TableEntry> entries;
  source.VisitBlock(index, index_handle.offset, [&](const std::string&, std::string_view value) {
    Handle handle;
    if (!TakeHandle(value, handle)) source.Refuse("has a damaged block handle");
    const std::string block = source.ReadBlock(handle);
    source.VisitBlock(block, handle.offset, [&](const std::string& key, std::string_view held) {
      if (!entries.empty() && entries.back().key >= key) {
        source.Refuse(fmt::format("has keys out of order in the block at byte {}", handle.offset));
      }
      entries.push_back({key, std::string(held)});
    });
  });
  return entries;
}

}  // namespace tpuest
