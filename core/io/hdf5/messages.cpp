// The messages of an object's header: types, shapes, attributes, and where and how the data are
// stored.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/io/hdf5/header.h"
#include "core/tensor/limits.h"

namespace tpuest {
namespace {

constexpr std::array<std::string_view, 11> kClasses = {
    "fixed-point", "floating-point", "time",        "string",          "bit field", "opaque",
    "compound",    "reference",      "enumeration", "variable-length", "array"};

DType IntegerOf(uint64_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? DType::kInt8 : DType::kUint8;
    case 2:
      return is_signed ? DType::kInt16 : DType::kUint16;
    case 4:
      return is_signed ? DType::kInt32 : DType::kUint32;
    case 8:
      return is_signed ? DType::kInt64 : DType::kUint64;
    default:
      return DType::kInvalid;
  }
}

// Finds a floating-point type by the bits of its exponent: IEEE's types, and bfloat16.
DType FloatOf(uint64_t size, unsigned exponent_size) {
  if (size == 2 && exponent_size == 5) return DType::kHalf;
  if (size == 2 && exponent_size == 8) return DType::kBfloat16;
  if (size == 4 && exponent_size == 8) return DType::kFloat;
  if (size == 8 && exponent_size == 11) return DType::kDouble;
  return DType::kInvalid;
}

// Version 1 of attributes pads each part to a multiple of 8 bytes.
uint64_t Padded(uint64_t size) { return (size + 7) & ~uint64_t{7}; }

struct AttributeHead {
  unsigned version;
  std::string_view name;
  uint64_t type_size;
  uint64_t space_size;
};

// Version, flags, sizes of name, type and space [2 each], (character set), name.
AttributeHead ReadAttributeHead(const Hdf5Bytes& file, Hdf5Cursor& cursor, std::string_view path) {
  AttributeHead head{};
  head.version = cursor.U8();
  if (head.version < 1 || head.version > 3) {
    file.Fault(path, fmt::format("damaged: an attribute of version {}", head.version));
  }
  const unsigned flags = cursor.U8();
  if (head.version > 1 && (flags & 3U) != 0) {
    file.Fault(path,
               "an attribute has a type of another object; only types of its own can be read");
  }
  const uint64_t name_size = cursor.U16();
  head.type_size = cursor.U16();
  head.space_size = cursor.U16();
  if (head.version == 3) cursor.Skip(1);
  head.name = cursor.Take(head.version == 1 ? Padded(name_size) : name_size);
  head.name = head.name.substr(0, head.name.find('\0'));
  return head;
}

}  // namespace

// Class and version in one byte, bits of the class [3], size [4], properties.
Hdf5Type ReadHdf5Type(const Hdf5Bytes& file, std::string_view message, std::string_view path) {
  Hdf5Cursor cursor(file, message, path);
  const unsigned head = cursor.U8();
  const unsigned class_number = head & 15U;
  const uint64_t bits = cursor.Unsigned(3);
  Hdf5Type type{.size = cursor.U32()};
  if (type.size == 0) file.Fault(path, "damaged: a type of no bytes");
  type.name = class_number < kClasses.size() ? kClasses[class_number] : "unknown";
  type.big_endian = (bits & 1U) != 0;
  switch (class_number) {
    case 0:
      type.dtype = IntegerOf(type.size, (bits & 8U) != 0);
      break;
    case 1: {
      cursor.Skip(5);
      type.dtype = (bits & 0x40U) != 0 ? DType::kInvalid : FloatOf(type.size, cursor.U8());
      break;
    }
    case 3:
      type.kind = Hdf5Type::Kind::kText;
      return type;
    case 5:
      type.opaque = true;
      type.big_endian = false;
      type.dtype = type.size == 2 ? DType::kUint16 : DType::kInvalid;
      break;
    case 8: {  // an enumeration of numbers; h5py stores bool as one of int8
      const Hdf5Type base = ReadHdf5Type(file, cursor.rest(), path);
      type.big_endian = base.big_endian;
      if (base.size == type.size) type.dtype = type.size == 1 ? DType::kBool : base.dtype;
      break;
    }
    case 9:
      if ((bits & 15U) == 1) type.kind = Hdf5Type::Kind::kReferredText;
      return type;
    default:
      return type;
  }
  if (type.dtype != DType::kInvalid) type.kind = Hdf5Type::Kind::kNumber;
  return type;
}

// Version 1: 1, rank, flags, 0 [5], sizes [8 each]. Version 2: 2, rank, flags, kind (0: one
// element, 1: an array, 2: empty), sizes.
Hdf5Space ReadHdf5Space(const Hdf5Bytes& file, std::string_view message, std::string_view path) {
  Hdf5Cursor cursor(file, message, path);
  const unsigned version = cursor.U8();
  const unsigned rank = cursor.U8();
  cursor.Skip(1);
  const unsigned what = cursor.U8();
  if (version == 1) {
    cursor.Skip(4);
  } else if (version != 2) {
    file.Fault(path, fmt::format("damaged: a shape of version {}", version));
  }
  if (rank > 32) file.Fault(path, fmt::format("damaged: a shape of {} dimensions", rank));
  Hdf5Space space;
  space.null = version == 2 && what == 2;
  std::vector<int64_t> sizes;
  for (unsigned axis = 0; axis < rank; ++axis) {
    const uint64_t size = cursor.U64();
    if (size > static_cast<uint64_t>(kMostElements)) {
      file.Fault(path, fmt::format("damaged: a dimension of {}", size));
    }
    sizes.push_back(static_cast<int64_t>(size));
  }
  space.shape = Shape(std::move(sizes));
  if (!IsCountable(space.shape)) {
    file.Fault(path, "damaged: its shape " + space.shape.Text() + " is beyond any memory");
  }
  return space;
}

std::string Hdf5AttributeName(const Hdf5Bytes& file, std::string_view message,
                              std::string_view path) {
  Hdf5Cursor cursor(file, message, path);
  return std::string(ReadAttributeHead(file, cursor, path).name);
}

Hdf5Attribute ReadHdf5Attribute(const Hdf5Bytes& file, std::string_view message,
                                std::string_view path) {
  Hdf5Cursor cursor(file, message, path);
  const AttributeHead head = ReadAttributeHead(file, cursor, path);
  const auto part = [&](uint64_t size) {
    return cursor.Take(head.version == 1 ? Padded(size) : size);
  };
  Hdf5Attribute attribute{.name = std::string(head.name)};
  attribute.type = ReadHdf5Type(file, part(head.type_size), path);
  attribute.space = ReadHdf5Space(file, part(head.space_size), path);
  attribute.data = cursor.rest();
  return attribute;
}

// Version 3: 3, class, then 0: size [2], data; 1: address, size; 2: rank + 1, address of a tree,
// sizes of a chunk [4 each]; the last size is that of an element. Version 4 indexes chunks
// differently.
Hdf5Layout ReadHdf5Layout(const Hdf5Bytes& file, std::string_view message, std::string_view path) {
  constexpr std::string_view kRepack =
      "rewrite the file with `h5repack -f NONE` or save the model again";
  Hdf5Cursor cursor(file, message, path);
  const unsigned version = cursor.U8();
  if (version != 3 && version != 4) {
    file.Fault(path, fmt::format("data laid out by version {}; 3 and 4 are known", version),
               std::string(kRepack));
  }
  const unsigned layout_class = cursor.U8();
  Hdf5Layout layout;
  if (layout_class == 0) {
    layout.kind = Hdf5Layout::Kind::kCompact;
    layout.compact = cursor.Take(cursor.U16());
  } else if (layout_class == 1) {
    layout.kind = Hdf5Layout::Kind::kContiguous;
    layout.address = cursor.U64();
    layout.size = cursor.U64();
  } else if (layout_class == 2) {
    const unsigned flags = version == 4 ? cursor.U8() : 0;
    const unsigned rank = cursor.U8();
    if (rank < 2 || rank > 33) file.Fault(path, fmt::format("damaged: chunks of rank {}", rank));
    const auto read_sizes = [&](uint64_t bytes) {
      for (unsigned axis = 0; axis < rank; ++axis) layout.chunk.push_back(cursor.Unsigned(bytes));
      layout.chunk.pop_back();  // the last size is that of an element
    };
    if (version == 3) {
      layout.kind = Hdf5Layout::Kind::kTreeOfChunks;
      layout.address = cursor.U64();
      read_sizes(4);
      return layout;
    }
    const unsigned bytes = cursor.U8();
    if (bytes < 1 || bytes > 8) file.Fault(path, fmt::format("damaged: words of {} bytes", bytes));
    read_sizes(bytes);
    if (cursor.U8() != 1) {
      file.Fault(path, "its chunks have an index that is not known", std::string(kRepack));
    }
    layout.kind = Hdf5Layout::Kind::kSingleChunk;
    if ((flags & 2U) != 0) {
      layout.size = cursor.U64();
      cursor.Skip(4);
    }
    layout.address = cursor.U64();
  } else if (layout_class == 3) {
    file.Fault(path, "virtual data, which are in other files; only data in this file are read");
  } else {
    file.Fault(path, fmt::format("damaged: data laid out as {}", layout_class));
  }
  return layout;
}

// Version 1: 1, count, 0 [6]; a filter is id [2], size of its name [2], flags [2], count of values
// [2], name, values [4 each], and 4 more bytes if the count is odd. Version 2 has no names for ids
// below 256 and no padding.
std::vector<Hdf5Filter> ReadHdf5Filters(const Hdf5Bytes& file, std::string_view message,
                                        std::string_view path) {
  Hdf5Cursor cursor(file, message, path);
  const unsigned version = cursor.U8();
  if (version != 1 && version != 2) {
    file.Fault(path, fmt::format("damaged: filters of version {}", version));
  }
  const unsigned count = cursor.U8();
  if (version == 1) cursor.Skip(6);
  std::vector<Hdf5Filter> filters;
  for (unsigned i = 0; i < count; ++i) {
    Hdf5Filter filter{.id = cursor.U16()};
    const uint64_t name_size = version == 1 || filter.id >= 256 ? cursor.U16() : 0;
    filter.optional = (cursor.U16() & 1U) != 0;
    const uint64_t values = cursor.U16();
    cursor.Skip(name_size);
    cursor.Skip(4 * values);
    if (version == 1 && values % 2 == 1) cursor.Skip(4);
    filters.push_back(filter);
  }
  return filters;
}

}  // namespace tpuest
