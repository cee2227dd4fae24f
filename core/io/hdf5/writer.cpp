// The order of the file: superblock 0; then each object after its members. A dataset is its data
// and then its header; a group is its heap of names, symbol tables, trees over them, and header.
// The readers describe the format of each (groups.cpp, header.cpp, messages.cpp).

#include "core/io/hdf5/writer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/error.h"
#include "core/io/hdf5/bytes.h"

namespace tpuest {
namespace {

// HDF5's default: a table has twice as many entries, and a node of a tree twice as many children.
constexpr uint16_t kLeaf = 4;
constexpr uint16_t kInner = 16;
constexpr uint64_t kSuperblockSize = 96;
constexpr uint64_t kTableSize = 8 + 2 * kLeaf * 40;
constexpr uint64_t kNodeSize = 24 + (2 * kInner + 1) * 8 + 2 * kInner * 8;

void PadTo8(std::string& out) { out.resize((out.size() + 7) / 8 * 8); }

struct Entry {
  uint64_t name;  // offset in the heap
  uint64_t address;
};

void AppendEntry(std::string& out, const Entry& entry) {
  AppendLittle(out, entry.name);
  AppendLittle(out, entry.address);
  out.append(24, '\0');
}

// Appends the description of a floating-point type: its size, and the bits of exponent and
// mantissa.
void AppendFloat(std::string& out, uint32_t size, uint8_t exponent, uint8_t mantissa) {
  out += '\x11';
  out += '\x20';  // the mantissa's first bit is implied
  out += static_cast<char>(8 * size - 1);
  out += '\0';
  AppendLittle(out, size);
  AppendLittle<uint16_t>(out, 0);
  AppendLittle(out, static_cast<uint16_t>(8 * size));
  for (const uint8_t byte : std::array<uint8_t, 4>{mantissa, exponent, 0, mantissa}) {
    out += static_cast<char>(byte);
  }
  AppendLittle(out, (uint32_t{1} << (exponent - 1)) - 1);
}

std::string TypeMessage(DType dtype) {
  std::string out;
  const auto size = static_cast<uint32_t>(SizeOf(dtype));
  if (dtype == DType::kHalf) {
    AppendFloat(out, size, 5, 10);
  } else if (dtype == DType::kFloat) {
    AppendFloat(out, size, 8, 23);
  } else if (dtype == DType::kDouble) {
    AppendFloat(out, size, 11, 52);
  } else {
    Check(IsInteger(dtype), "{} has no type in HDF5", NameOf(dtype));
    const bool is_signed = dtype == DType::kInt8 || dtype == DType::kInt16 ||
                           dtype == DType::kInt32 || dtype == DType::kInt64;
    out += '\x10';
    out += is_signed ? '\x08' : '\0';
    out.append(2, '\0');
    AppendLittle(out, size);
    AppendLittle<uint16_t>(out, 0);
    AppendLittle(out, static_cast<uint16_t>(8 * size));
  }
  return out;
}

std::string SpaceMessage(const Shape& shape) {
  std::string out{'\1', static_cast<char>(shape.rank())};
  out.append(6, '\0');
  for (const int64_t size : shape.dims()) AppendLittle(out, size);
  return out;
}

// A header of version 1, with the type of each message.
std::string Header(const std::vector<std::pair<uint16_t, std::string>>& messages) {
  std::string body;
  for (const auto& [type, data] : messages) {
    AppendLittle(body, type);
    AppendLittle(body, static_cast<uint16_t>((data.size() + 7) / 8 * 8));
    body.append(4, '\0');
    body += data;
    PadTo8(body);
  }
  std::string out{'\1', '\0'};
  AppendLittle(out, static_cast<uint16_t>(messages.size()));
  AppendLittle<uint32_t>(out, 1);  // number of links to this object
  AppendLittle(out, static_cast<uint32_t>(body.size()));
  out.append(4, '\0');
  return out + body;
}

}  // namespace

class Hdf5Writer::File {
 public:
  std::string Write(const Node& root) {
    out_.assign(kSuperblockSize, '\0');
    const uint64_t address = WriteGroup(root);
    std::string head(kHdf5Signature);
    head.append(5, '\0');  // versions
    head += "\x08\x08";
    head += '\0';
    AppendLittle(head, kLeaf);
    AppendLittle(head, kInner);
    AppendLittle<uint32_t>(head, 0);
    AppendLittle<uint64_t>(head, 0);
    AppendLittle(head, kNowhere);
    AppendLittle(head, static_cast<uint64_t>(out_.size()));
    AppendLittle(head, kNowhere);
    AppendLittle<uint64_t>(head, 0);
    AppendLittle(head, address);
    AppendLittle<uint64_t>(head, 1);  // the root's tree and heap follow
    AppendLittle(head, tree_);
    AppendLittle(head, heap_);
    Check(head.size() == kSuperblockSize);
    return out_.replace(0, kSuperblockSize, head);
  }

 private:
  uint64_t Append(const std::string& bytes) {
    const uint64_t at = out_.size();
    out_ += bytes;
    PadTo8(out_);
    return at;
  }

  uint64_t WriteDataset(const Tensor& tensor) {
    const uint64_t data =
        tensor.bytes() == 0
            ? kNowhere
            : Append(std::string(static_cast<const char*>(tensor.raw()), tensor.bytes()));
    std::string layout{'\3', '\1'};
    AppendLittle(layout, data);
    AppendLittle(layout, static_cast<uint64_t>(tensor.bytes()));
    // Version 2; space is allocated when data are written; a fill value is written if one is set;
    // none is set.
    const std::string fill{'\2', '\2', '\2', '\0'};
    return Append(Header({{0x01, SpaceMessage(tensor.shape())},
                          {0x03, TypeMessage(tensor.dtype())},
                          {0x05, fill},
                          {0x08, layout}}));
  }

  uint64_t WriteGroup(const Node& group) {
    std::string names(8, '\0');  // the empty name, which sorts before all names
    std::vector<Entry> entries;
    for (const auto& [name, child] : group.children) {
      const uint64_t address =
          child.tensor.valid() ? WriteDataset(child.tensor) : WriteGroup(child);
      entries.push_back({names.size(), address});
      names += name;
      names += '\0';
      PadTo8(names);
    }
    heap_ = WriteHeap(names);
    tree_ = WriteTree(entries);
    std::string message;
    AppendLittle(message, tree_);
    AppendLittle(message, heap_);
    return Append(Header({{0x11, message}}));
  }

  uint64_t WriteHeap(const std::string& names) {
    std::string head("HEAP");
    head.append(4, '\0');
    AppendLittle(head, static_cast<uint64_t>(names.size()));
    AppendLittle<uint64_t>(head, 1);  // nothing is free
    AppendLittle(head, static_cast<uint64_t>(out_.size() + 32));
    return Append(head + names);
  }

  // Writes tables of entries, then levels of nodes over them until one node covers all.
  uint64_t WriteTree(const std::vector<Entry>& entries) {
    std::vector<Entry> children;  // the last name below each child, and the child's address
    for (size_t begin = 0; begin < entries.size(); begin += 2 * kLeaf) {
      const size_t end = std::min(entries.size(), begin + 2 * kLeaf);
      std::string table("SNOD\1");
      table += '\0';
      AppendLittle(table, static_cast<uint16_t>(end - begin));
      for (size_t i = begin; i < end; ++i) AppendEntry(table, entries[i]);
      table.resize(kTableSize);
      children.push_back({entries[end - 1].name, Append(table)});
    }
    for (uint8_t level = 0;; ++level) {
      children = WriteLevel(children, level);
      if (children.size() == 1) return children.front().address;
    }
  }

  std::vector<Entry> WriteLevel(const std::vector<Entry>& children, uint8_t level) {
    constexpr size_t kMost = 2 * kInner;
    const size_t count = std::max<size_t>((children.size() + kMost - 1) / kMost, 1);
    const uint64_t first = out_.size();
    std::vector<Entry> nodes;
    for (size_t i = 0; i < count; ++i) {
      const size_t begin = i * kMost;
      const size_t end = std::min(children.size(), begin + kMost);
      std::string node("TREE");
      node += '\0';
      node += static_cast<char>(level);
      AppendLittle(node, static_cast<uint16_t>(end - begin));
      AppendLittle(node, i == 0 ? kNowhere : first + (i - 1) * kNodeSize);
      AppendLittle(node, i + 1 == count ? kNowhere : first + (i + 1) * kNodeSize);
      AppendLittle(node, begin == 0 ? uint64_t{0} : children[begin - 1].name);
      for (size_t child = begin; child < end; ++child) {
        AppendLittle(node, children[child].address);
        AppendLittle(node, children[child].name);
      }
      node.resize(kNodeSize);
      nodes.push_back({end == 0 ? 0 : children[end - 1].name, Append(node)});
    }
    return nodes;
  }

  std::string out_;
  uint64_t heap_ = kNowhere;  // of the last written group
  uint64_t tree_ = kNowhere;
};

Hdf5Writer::Node& Hdf5Writer::Reach(std::string_view path) {
  Node* node = &root_;
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    Check(end > 0, "a name of no characters");
    Check(!node->tensor.valid(), "a dataset holds nothing");
    node = &node->children[std::string(path.substr(0, end))];
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return *node;
}

void Hdf5Writer::AddGroup(std::string_view path) { static_cast<void>(Reach(path)); }

void Hdf5Writer::AddDataset(std::string_view path, const Tensor& tensor) {
  Node& node = Reach(path);
  Check(!node.tensor.valid() && node.children.empty(), "{} is there", path);
  const DType dtype = tensor.dtype();
  node.tensor = dtype == DType::kBfloat16 ? tensor.Cast(DType::kFloat)
                : dtype == DType::kBool   ? tensor.Cast(DType::kUint8)
                                          : tensor;
}

std::string Hdf5Writer::Finish() const { return File().Write(root_); }

}  // namespace tpuest
