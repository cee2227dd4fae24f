// Many links or attributes of a new object: messages in a fractal heap, and a tree of their names'
// checksums, whose records refer to the heap.
//
// The tree: "BTHD", 0, type, size of a node [4], size of a record [2], depth [2], two percentages,
// root, its count [2], total count, checksum. A node is "BTLF" or "BTIN", 0, type, records,
// checksum. Before the checksum, an inner node has one child more than it has records: address, its
// count, and above the lowest inner level the total count below it. A count has as many bytes as
// the largest possible count needs. The heap "FRHP" is one block "FHDB", or a table "FHIB" of rows
// of blocks: the blocks of the first two rows have the first size, and each later row's blocks are
// twice as large as the row's before. An id is its kind (bits 4 and 5: 0 in a block, 1 an object by
// itself, 2 within the id), then offset and length.

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/io/hdf5/header.h"

namespace tpuest {
namespace {

constexpr int kMostDepth = 16;  // enough for nodes of 11 records or more

uint64_t BytesFor(uint64_t greatest) {
  return (static_cast<uint64_t>(std::bit_width(greatest)) + 7) / 8;
}

class Heap {
 public:
  Heap(const Hdf5Bytes& file, uint64_t address, std::string_view path) : file_(file), path_(path) {
    constexpr uint64_t kHeadSize = 146;
    const std::string_view head = file.At(address, kHeadSize, path);
    Hdf5Cursor cursor(file, head, path);
    cursor.Expect("FRHP");
    cursor.Skip(1);
    id_size_ = cursor.U16();
    if (cursor.U16() != 0) file.Fault(path, "the names of what it holds are packed");
    CheckHdf5Sum(file, head, path);
    cursor.Skip(1);
    const uint64_t most_managed = cursor.U32();
    cursor.Skip(12 * 8);
    width_ = cursor.U16();
    first_size_ = cursor.U64();
    const uint64_t most_direct = cursor.U64();
    const uint64_t bits = cursor.U16();
    cursor.Skip(2);
    root_ = cursor.U64();
    rows_ = cursor.U16();
    if (width_ == 0 || first_size_ == 0 || bits == 0 || bits > 64 || rows_ > 64 ||
        most_direct < first_size_ || !std::has_single_bit(first_size_) ||
        !std::has_single_bit(most_direct)) {
      file.Fault(path, "damaged: the sizes in its heap do not go together");
    }
    offset_bytes_ = (bits + 7) / 8;
    length_bytes_ =
        std::min<uint64_t>((std::bit_width(most_direct) + 6) / 8, BytesFor(most_managed));
    direct_rows_ = static_cast<uint64_t>(std::bit_width(most_direct / first_size_)) + 1;
  }

  [[nodiscard]] uint64_t id_size() const { return id_size_; }

  [[nodiscard]] std::string_view Message(std::string_view id) const {
    Hdf5Cursor cursor(file_, id, path_);
    const unsigned what = cursor.U8() >> 4 & 3U;
    if (what == 2) return cursor.Take((static_cast<unsigned char>(id[0]) & 15U) + 1);
    if (what != 0) file_.Fault(path_, "one of its names has a place of its own, which is not read");
    const uint64_t offset = cursor.Unsigned(offset_bytes_);
    const uint64_t length = cursor.Unsigned(length_bytes_);
    return rows_ == 0 ? InBlock(root_, first_size_, 0, offset, length)
                      : InTable(root_, rows_, 0, offset, length, 0);
  }

 private:
  [[nodiscard]] uint64_t SizeOfRow(uint64_t row) const {
    return row < 2 ? first_size_ : first_size_ << (row - 1);
  }

  // Offsets count over all blocks of the heap, including the blocks' own headers.
  [[nodiscard]] std::string_view InBlock(uint64_t address, uint64_t size, uint64_t begin,
                                         uint64_t offset, uint64_t length) const {
    const std::string_view block = file_.At(address, size, path_);
    Hdf5Cursor cursor(file_, block, path_);
    cursor.Expect("FHDB");
    const uint64_t within = offset - begin;
    if (within > size || length > size - within) {
      file_.Fault(path_, "damaged: one of its names is outside of its heap");
    }
    file_.Spend(length, path_);
    return block.substr(within, length);
  }

  [[nodiscard]] std::string_view InTable(uint64_t address, uint64_t rows, uint64_t begin,
                                         uint64_t offset, uint64_t length, int depth) const {
    if (depth > kMostDepth) file_.Fault(path_, "damaged: its heap is too deep");
    Hdf5Cursor cursor(file_, file_.From(address, path_), path_);
    cursor.Expect("FHIB");
    cursor.Skip(1 + 8 + offset_bytes_);
    for (uint64_t row = 0; row < rows; ++row) {
      const uint64_t size = SizeOfRow(row);
      file_.Spend(8 * width_, path_);
      for (uint64_t column = 0; column < width_; ++column, begin += size) {
        const uint64_t child = cursor.U64();
        if (offset < begin || offset - begin >= size) continue;
        if (row < direct_rows_) return InBlock(child, size, begin, offset, length);
        // The size of a child table, `size` bytes of blocks, gives its number of rows.
        const auto child_rows = static_cast<uint64_t>(std::bit_width(size / first_size_ / width_));
        return InTable(child, child_rows, begin, offset, length, depth + 1);
      }
      if (row > 60) break;
    }
    file_.Fault(path_, "damaged: one of its names is outside of its heap");
  }

  const Hdf5Bytes& file_;
  std::string_view path_;
  uint64_t id_size_ = 0;
  uint64_t width_ = 0;
  uint64_t first_size_ = 0;
  uint64_t root_ = kNowhere;
  uint64_t rows_ = 0;
  uint64_t offset_bytes_ = 0;
  uint64_t length_bytes_ = 0;
  uint64_t direct_rows_ = 0;
};

class Tree {
 public:
  Tree(const Hdf5Bytes& file, uint64_t address, std::string_view path) : file_(file), path_(path) {
    constexpr uint64_t kHeadSize = 38;
    const std::string_view head = file.At(address, kHeadSize, path);
    CheckHdf5Sum(file, head, path);
    Hdf5Cursor cursor(file, head, path);
    cursor.Expect("BTHD");
    cursor.Skip(1);
    type_ = cursor.U8();
    node_size_ = cursor.U32();
    record_size_ = cursor.U16();
    depth_ = cursor.U16();
    cursor.Skip(2);
    root_ = cursor.U64();
    root_count_ = cursor.U16();
    // Links by name: checksum [4], id. Attributes by name: id [8], flags, order [4], checksum [4].
    id_at_ = type_ == 5 ? 4 : 0;
    if ((type_ != 5 && type_ != 8) || record_size_ < id_at_ + 7 || depth_ > kMostDepth ||
        node_size_ < 64) {
      file.Fault(path, "damaged: the tree of its names");
    }
    FindCounts();
  }

  template <class Visit>
  void ForEachRecord(const Visit& visit) const {
    if (root_ != kNowhere) Walk(root_, root_count_, depth_, visit);
  }
  [[nodiscard]] uint64_t id_at() const { return id_at_; }

 private:
  static constexpr uint64_t kPrefix = 6;  // signature, version, type
  static constexpr uint64_t kSum = 4;

  // Finds the sizes of a child's count of records and of its total count, by the child's level.
  void FindCounts() {
    const uint64_t leaf_most = (node_size_ - kPrefix - kSum) / record_size_;
    most_.push_back(leaf_most);
    most_below_.push_back(leaf_most);
    for (unsigned level = 1; level <= depth_; ++level) {
      const uint64_t pointer = PointerSize(level);
      if (node_size_ < kPrefix + kSum + pointer) file_.Fault(path_, "damaged: a tree's node size");
      const uint64_t most = (node_size_ - kPrefix - kSum - pointer) / (record_size_ + pointer);
      most_.push_back(most);
      most_below_.push_back((most + 1) * most_below_.back() + most);
      if (most_below_.back() > uint64_t{1} << 50) break;
    }
    if (most_.size() <= depth_) file_.Fault(path_, "damaged: the depth of a tree");
  }

  // Bytes of a pointer from a node of that level to its child.
  [[nodiscard]] uint64_t PointerSize(unsigned level) const {
    return 8 + BytesFor(most_[0]) + (level > 1 ? BytesFor(most_below_[level - 1]) : 0);
  }

  template <class Visit>
  void Walk(uint64_t address, uint64_t count, unsigned level, const Visit& visit) const {
    if (count > most_[level]) file_.Fault(path_, "damaged: too many records in a tree's node");
    const uint64_t pointers = level == 0 ? 0 : (count + 1) * PointerSize(level);
    const std::string_view node =
        file_.At(address, kPrefix + count * record_size_ + pointers + kSum, path_);
    file_.Spend(node.size(), path_);
    CheckHdf5Sum(file_, node, path_);
    Hdf5Cursor cursor(file_, node, path_);
    cursor.Expect(level == 0 ? "BTLF" : "BTIN");
    cursor.Skip(2);
    for (uint64_t i = 0; i < count; ++i) visit(cursor.Take(record_size_));
    if (level == 0) return;
    for (uint64_t i = 0; i <= count; ++i) {
      const uint64_t child = cursor.U64();
      const uint64_t child_count = cursor.Unsigned(BytesFor(most_[0]));
      if (level > 1) cursor.Skip(BytesFor(most_below_[level - 1]));
      Walk(child, child_count, level - 1, visit);
    }
  }

  const Hdf5Bytes& file_;
  std::string_view path_;
  unsigned type_ = 0;
  uint64_t node_size_ = 0;
  uint64_t record_size_ = 0;
  unsigned depth_ = 0;
  uint64_t root_ = kNowhere;
  uint64_t root_count_ = 0;
  uint64_t id_at_ = 0;
  std::vector<uint64_t> most_;        // most records of a node, by level
  std::vector<uint64_t> most_below_;  // most records of a node and all nodes below it, by level
};

}  // namespace

std::vector<std::string_view> ReadHdf5DenseMessages(const Hdf5Bytes& file, uint64_t heap,
                                                    uint64_t tree, std::string_view path) {
  if (tree == kNowhere) file.Fault(path, "damaged: what it holds has no names");
  const Heap messages(file, heap, path);
  const Tree records(file, tree, path);
  std::vector<std::string_view> found;
  records.ForEachRecord([&](std::string_view record) {
    // The id of a link fills the rest of its record; the id of an attribute has 8 bytes.
    const std::string_view id = record.substr(records.id_at());
    found.push_back(messages.Message(id.substr(0, std::min<uint64_t>(messages.id_size(), 8))));
  });
  return found;
}

}  // namespace tpuest
