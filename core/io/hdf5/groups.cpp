// The members of a group.
//
// Old groups: a tree "TREE" (0, level, count [2], two neighbours, then keys and children in turn)
// over tables "SNOD" (1, 0, count [2], entries of 40 bytes: offset of the name in the heap,
// address, kind of cache [4], 0 [4], cache [16]); and the heap "HEAP" (0 [4], size, free space,
// address of the names). New groups have one message per link; if there are many, the messages are
// in a fractal heap (dense.cpp).

#include <fmt/format.h>

#include "core/io/hdf5/header.h"

namespace tpuest {
namespace {

constexpr uint64_t kNodeHead = 24;
constexpr uint64_t kEntrySize = 40;

[[noreturn]] void RefuseLink(const Hdf5Bytes& file, std::string_view name, std::string_view path) {
  constexpr size_t kMostName = 200;
  file.Fault(path, fmt::format("\"{}\" is a link to elsewhere; only what is in the file is read",
                               name.substr(0, kMostName)));
}

void AddLink(const Hdf5Bytes& file, std::string_view name, uint64_t address, Hdf5Header& header,
             std::string_view path) {
  // Paths consist of names separated by slashes, and "." in a path means the current group.
  if (name.empty() || name == "." || name.find('/') != std::string_view::npos) {
    file.Fault(path, "damaged: it holds something without a name");
  }
  if (!header.links.emplace(name, address).second) {
    file.Fault(path, fmt::format("damaged: it holds \"{}\" twice", name.substr(0, 200)));
  }
}

struct SymbolTables {
  const Hdf5Bytes& file;
  std::string_view names;
  Hdf5Header& header;
  std::string_view path;

  void ReadTable(uint64_t address) const {
    Hdf5Cursor cursor(file, file.From(address, path), path);
    cursor.Expect("SNOD");
    cursor.Skip(2);
    const unsigned count = cursor.U16();
    file.Spend(8 + kEntrySize * count, path);
    for (unsigned i = 0; i < count; ++i) {
      const uint64_t at = cursor.U64();
      const uint64_t object = cursor.U64();
      const uint32_t cache = cursor.U32();
      cursor.Skip(20);
      if (at >= names.size()) file.Fault(path, "damaged: a name is outside of its heap");
      const std::string_view tail = names.substr(at);
      const size_t size = tail.find('\0');
      file.Spend(size == std::string_view::npos ? tail.size() : size, path);
      if (size == std::string_view::npos) file.Fault(path, "damaged: a name has no end");
      if (cache == 2) RefuseLink(file, tail.substr(0, size), path);
      AddLink(file, tail.substr(0, size), object, header, path);
    }
  }

  // A child is one level lower, so the recursion ends; the budget of Spend ends walks over nodes
  // that too many parents share.
  void ReadNode(uint64_t address, int expected_level) const {
    Hdf5Cursor cursor(file, file.From(address, path), path);
    cursor.Expect("TREE");
    if (cursor.U8() != 0) file.Fault(path, "damaged: a tree of chunks where one of names belongs");
    const int level = cursor.U8();
    const unsigned count = cursor.U16();
    if (expected_level >= 0 && level != expected_level) {
      file.Fault(path, "damaged: the levels of its tree do not follow each other");
    }
    file.Spend(kNodeHead + 16 * count, path);
    cursor.Skip(16);
    for (unsigned i = 0; i < count; ++i) {
      cursor.Skip(8);
      const uint64_t child = cursor.U64();
      if (level == 0) {
        ReadTable(child);
      } else {
        ReadNode(child, level - 1);
      }
    }
  }
};

}  // namespace

void ReadHdf5SymbolTable(const Hdf5Bytes& file, uint64_t tree, uint64_t heap, Hdf5Header& header,
                         std::string_view path) {
  Hdf5Cursor cursor(file, file.At(heap, 32, path), path);
  cursor.Expect("HEAP");
  cursor.Skip(4);
  const uint64_t size = cursor.U64();
  cursor.Skip(8);
  const std::string_view names = file.At(cursor.U64(), size, path);
  SymbolTables{.file = file, .names = names, .header = header, .path = path}.ReadNode(tree, -1);
}

// 1, flags, (kind), (order [8]), (character set), size of the name [1 to 8], name, address.
void ReadHdf5Link(const Hdf5Bytes& file, std::string_view message, Hdf5Header& header,
                  std::string_view path) {
  Hdf5Cursor cursor(file, message, path);
  if (const unsigned version = cursor.U8(); version != 1) {
    file.Fault(path, fmt::format("damaged: a link of version {}", version));
  }
  const unsigned flags = cursor.U8();
  const unsigned what = (flags & 8U) != 0 ? cursor.U8() : 0;
  if ((flags & 4U) != 0) cursor.Skip(8);
  if ((flags & 16U) != 0) cursor.Skip(1);
  const std::string_view name = cursor.Take(cursor.Unsigned(uint64_t{1} << (flags & 3U)));
  if (what != 0) RefuseLink(file, name, path);
  AddLink(file, name, cursor.U64(), header, path);
}

}  // namespace tpuest
