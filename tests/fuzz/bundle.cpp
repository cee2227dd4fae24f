// A checkpoint of two files, its index and its only shard, separated by a line "--". The first byte
// says whether checksums are corrected first: those of the index's blocks, and those of the values
// that it lists.

#include "core/io/bundle.h"

#include <cstring>

#include "core/io/crc32c.h"
#include "core/io/object_graph.h"
#include "core/io/protos.h"
#include "core/io/table.h"
#include "core/io/wire.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

constexpr size_t kFooterBytes = 48;
constexpr size_t kTrailerBytes = 5;  // a block's compression and checksum

// Corrects a block's checksum; returns its contents, or nothing if the handle is invalid.
std::string_view RepairBlock(std::string& table, std::string_view& handle) {
  uint64_t offset = 0;
  uint64_t size = 0;
  if (!TakeVarint(handle, offset) || !TakeVarint(handle, size)) return {};
  const size_t room = table.size() - kFooterBytes;
  if (offset > room || size > room - offset || room - offset - size < kTrailerBytes) return {};
  const uint32_t crc = MaskCrc(Crc32c({table.data() + offset, size + 1}));
  std::memcpy(table.data() + offset + size + 1, &crc, sizeof crc);
  return std::string_view(table).substr(offset, size);
}

// Corrects the checksums of the index block and of the blocks that it names.
std::string RepairedTable(std::string_view bytes) {
  std::string table(bytes);
  if (table.size() < kFooterBytes) return table;
  const std::string footer = table.substr(table.size() - kFooterBytes);
  std::string_view handles = footer;
  RepairBlock(table, handles);
  const std::string index(RepairBlock(table, handles));
  std::string_view rest = index;
  while (!rest.empty()) {
    uint64_t shared = 0;
    uint64_t unshared = 0;
    uint64_t size = 0;
    std::string_view key;
    std::string_view handle;
    if (!TakeVarint(rest, shared) || !TakeVarint(rest, unshared) || !TakeVarint(rest, size) ||
        !TakeBytes(rest, unshared, key) || !TakeBytes(rest, size, handle)) {
      break;
    }
    RepairBlock(table, handle);
  }
  return table;
}

// The same entries with the checksums of the bytes at their positions in the shard.
std::string WithChecksumsOf(std::string_view data, const std::string& table) {
  TableBuilder builder;
  for (TableEntry& entry : ReadTable("index", table)) {
    pb::BundleEntryProto value;
    const bool is_entry = !entry.key.empty() && value.ParseFromString(entry.value);
    const auto offset = static_cast<uint64_t>(value.offset());
    const auto size = static_cast<uint64_t>(value.size());
    if (is_entry && offset <= data.size() && size <= data.size() - offset) {
      value.set_crc32c(MaskCrc(Crc32c(data.substr(offset, size))));
      entry.value = value.SerializeAsString();
    }
    builder.Add(entry.key, entry.value);
  }
  return builder.Finish();
}

}  // namespace

void RunBundle(std::string_view input) {
  const uint8_t choice = TakeChoice(input);
  std::string index(TakePart(input));
  if ((choice & 1) != 0) index = RepairedTable(index);
  if ((choice & 2) != 0) index = WithChecksumsOf(input, index);
  const std::string prefix = TheFiles().Path("ckpt");
  TheFiles().Put("ckpt.index", index);
  TheFiles().Put("ckpt.data-00000-of-00001", input);
  const BundleReader bundle(prefix);
  for (const std::string& name : bundle.Names()) {
    Takes([&] { (void)bundle.ShapeOf(name); });
    Takes([&] { (void)bundle.ChecksumOf(name); });
    Takes([&] { Check(bundle.Read(name).bytes() <= 16 * input.size(), "more than is there"); });
  }
  (void)ReadObjectGraph(bundle);
}

}  // namespace tpuest::fuzz
