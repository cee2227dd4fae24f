#include "data/sources/npy.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "core/base/error.h"
#include "core/base/whole_number.h"
#include "core/io/wire.h"
#include "core/tensor/limits.h"

namespace tpuest::data {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 8;  // alignment of the widest element

// The parsed `descr`: "<f4", "|u1", "<U8".
struct ElementType {
  DType dtype = DType::kInvalid;
  char kind = 'i';   // 'S': bytes, 'U': UCS-4, otherwise numbers
  size_t width = 0;  // bytes of an element
  bool swaps = false;
};

struct Header {
  ElementType element;
  bool is_fortran = false;
  Shape shape;
  size_t begin = 0;  // offset of the elements
};

class HeaderReader {
 public:
  HeaderReader(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Header Read() {
    if (bytes_.size() < 10 || !bytes_.starts_with(kMagic)) {
      Fail("expected a .npy file (\\x93NUMPY), found other bytes");
    }
    const auto version = static_cast<uint8_t>(bytes_[6]);
    if (version < 1 || version > 3) Fail(fmt::format("expected version 1 to 3, found {}", version));
    const size_t begin = version == 1 ? 10 : 12;
    if (bytes_.size() < begin) Fail("the file ends within its header");
    const size_t size = version == 1 ? LoadLittle<uint16_t>(bytes_.data() + 8)
                                     : LoadLittle<uint32_t>(bytes_.data() + 8);
    if (bytes_.size() - begin < size) Fail("the file ends within its header");
    header_ = bytes_.substr(begin, size);
    Header header;
    header.element = TypeOf(TextOf("descr"));
    header.is_fortran = WordOf("fortran_order") == "True";
    header.shape = ShapeOf();
    header.begin = begin + size;
    CheckSize(header);
    return header;
  }

 private:
  [[noreturn]] void Fail(const std::string& message, const std::string& hint = "") const {
    throw Error(Code::kData, fmt::format("{}: {}", name_, message), hint);
  }

  // The text after 'key':.
  [[nodiscard]] std::string_view Behind(std::string_view key) const {
    const size_t at = header_.find(fmt::format("'{}':", key));
    if (at == std::string_view::npos) Fail(fmt::format("its header has no '{}'", key));
    std::string_view rest = header_.substr(at + key.size() + 3);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    return rest;
  }
  [[nodiscard]] std::string_view WordOf(std::string_view key) const {
    const std::string_view rest = Behind(key);
    return rest.substr(0, rest.find_first_of(", }"));
  }
  [[nodiscard]] std::string_view TextOf(std::string_view key) const {
    std::string_view rest = Behind(key);
    if (!rest.starts_with('\'')) {
      Fail("found a record array of several fields", "save one array per field: numpy.savez");
    }
    rest.remove_prefix(1);
    return rest.substr(0, rest.find('\''));
  }

  [[nodiscard]] ElementType TypeOf(std::string_view descr) const {
    const auto unknown = [&] {
      Fail(fmt::format("elements of type '{}'; expected bool, int8 to int64, uint8 to uint64, "
                       "float32, float64, bytes or text",
                       descr.substr(0, 20)),
           "array.astype('float32')");
    };
    const std::string_view order = descr.substr(0, 1);
    if (descr.size() < 3 || std::string_view("<>|=").find(order) == std::string_view::npos)
      unknown();
    const auto size = WholeNumber<uint32_t>(descr.substr(2));
    if (!size || *size == 0) unknown();
    ElementType type{.kind = descr[1], .width = *size, .swaps = order == ">"};
    if (type.kind == 'S' || type.kind == 'U') {
      type.dtype = DType::kString;
      if (type.kind == 'U') type.width *= 4;
      return type;
    }
    struct Known {
      std::string_view name;
      DType dtype;
    };
    constexpr std::array kKnown = {
        Known{"b1", DType::kBool},   Known{"i1", DType::kInt8},   Known{"i2", DType::kInt16},
        Known{"i4", DType::kInt32},  Known{"i8", DType::kInt64},  Known{"u1", DType::kUint8},
        Known{"u2", DType::kUint16}, Known{"u4", DType::kUint32}, Known{"u8", DType::kUint64},
        Known{"f4", DType::kFloat},  Known{"f8", DType::kDouble}};
    for (const Known& known : kKnown) {
      if (known.name == descr.substr(1)) type.dtype = known.dtype;
    }
    if (type.dtype == DType::kInvalid) unknown();
    return type;
  }

  [[nodiscard]] Shape ShapeOf() const {
    std::string_view rest = Behind("shape");
    const size_t end = rest.find(')');
    if (!rest.starts_with('(') || end == std::string_view::npos) {
      Fail("its header's 'shape' is not a tuple");
    }
    rest = rest.substr(1, end - 1);
    std::vector<int64_t> dims;
    while (!rest.empty()) {
      std::string_view word = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
      if (word.empty()) continue;
      const auto dim = WholeNumber<uint32_t>(word);
      if (!dim) Fail(fmt::format("its header's 'shape' has '{}'", word.substr(0, 20)));
      dims.push_back(*dim);
    }
    if (dims.empty()) Fail("expected rows, found a single value");
    return Shape(std::move(dims));
  }

  void CheckSize(const Header& header) const {
    const uint64_t found = bytes_.size() - header.begin;
    // Then the product does not overflow for any width of an element.
    if (!IsCountable(header.shape)) Fail("its shape is too large");
    const auto elements = static_cast<unsigned __int128>(header.shape.elements());
    if (elements * header.element.width == found) return;
    Fail(fmt::format("expected {} bytes after the header for {} of {} bytes, found {}",
                     static_cast<uint64_t>(elements * header.element.width), header.shape.Text(),
                     header.element.width, found));
  }

  std::string_view bytes_;
  const std::string& name_;
  std::string_view header_;
};

// Maps the elements in C's order to Fortran's order, whose axes count from the other end.
class FortranOrder {
 public:
  explicit FortranOrder(const Shape& shape) : dims_(shape.dims()), index_(dims_.size(), 0) {}
  // Returns the positions of elements 0, 1, 2, ... of C's order.
  size_t Next() {
    size_t at = 0;
    for (size_t axis = dims_.size(); axis-- > 0;) {
      at = at * static_cast<size_t>(dims_[axis]) + static_cast<size_t>(index_[axis]);
    }
    for (size_t axis = dims_.size(); axis-- > 0;) {
      if (++index_[axis] < dims_[axis]) break;
      index_[axis] = 0;
    }
    return at;
  }

 private:
  std::vector<int64_t> dims_;
  std::vector<int64_t> index_;
};

void AppendPoint(uint32_t point, std::string& to, const std::string& name) {
  const auto put = [&](uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) {
    throw Error(Code::kData, fmt::format("{}: a text has the character {:#x}", name, point));
  }
  if (point < 0x80) return put(point);
  if (point >= 0x10000) put(0xf0 | point >> 18);
  if (point >= 0x800)
    put((point >= 0x10000 ? 0x80 : 0xe0) | (point >> 12 & (point >= 0x10000 ? 0x3f : 0xf)));
  put((point >= 0x800 ? 0x80 : 0xc0) | (point >> 6 & (point >= 0x800 ? 0x3f : 0x1f)));
  put(0x80 | (point & 0x3f));
}

// Strings are padded with zeros.
void ReadTexts(const Header& header, const std::string& elements, const std::string& name,
               NpyArray& array) {
  const auto count = static_cast<size_t>(header.shape.elements());
  const size_t width = header.element.width;
  // Shared, so that views stay valid when the array is moved.
  array.bytes_of_texts = std::make_shared<std::string>();
  std::string& bytes = *array.bytes_of_texts;
  std::vector<size_t> ends;
  for (size_t i = 0; i < count; ++i) {
    std::string_view text = std::string_view(elements).substr(i * width, width);
    text = text.substr(0, text.find_last_not_of('\0') + 1);
    if (header.element.kind == 'S') {
      bytes.append(text);
    } else {
      const size_t units = (text.size() + 3) / 4;
      for (size_t unit = 0; unit < units; ++unit) {
        AppendPoint(LoadLittle<uint32_t>(elements.data() + i * width + unit * 4), bytes, name);
      }
    }
    ends.push_back(bytes.size());
  }
  size_t begin = 0;
  for (const size_t end : ends) {
    array.texts.push_back(std::string_view(bytes).substr(begin, end - begin));
    begin = end;
  }
  array.data = array.texts.data();
}

// Converts the elements to the machine's byte order and to C's order.
void Rearrange(const Header& header, const char* from, char* to) {
  const size_t width = header.element.width;
  const size_t unit = header.element.kind == 'U' ? 4 : width;
  FortranOrder order(header.shape);
  const auto count = static_cast<size_t>(header.shape.elements());
  for (size_t i = 0; i < count; ++i) {
    char* const out = to + i * width;
    std::memcpy(out, from + (header.is_fortran ? order.Next() : i) * width, width);
    if (!header.element.swaps || unit < 2) continue;
    for (size_t at = 0; at < width; at += unit) std::reverse(out + at, out + at + unit);
  }
}

bool IsAligned(const char* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

// Checks that every bool is 0 or 1.
void CheckTruths(const NpyArray& array, const std::string& name) {
  if (array.dtype != DType::kBool) return;
  const auto* const bytes = static_cast<const uint8_t*>(array.data);
  const uint8_t* const end = bytes + array.shape.elements();
  const uint8_t* const other = std::find_if(bytes, end, [](uint8_t byte) { return byte > 1; });
  if (other == end) return;
  throw Error(Code::kData, fmt::format("{}: element {} is the byte {}; expected a boolean, 0 or 1",
                                       name, other - bytes, *other));
}

}  // namespace

NpyArray ReadNpy(std::string_view bytes, const std::string& name) {
  const Header header = HeaderReader(bytes, name).Read();
  NpyArray array{.dtype = header.element.dtype, .shape = header.shape};
  const char* const from = bytes.data() + header.begin;
  const size_t size = bytes.size() - header.begin;
  const bool is_text = header.element.dtype == DType::kString;
  const bool stays = !header.is_fortran || header.shape.rank() < 2;
  if (is_text) {
    std::string elements(size, '\0');
    Rearrange(header, from, elements.data());
    ReadTexts(header, elements, name, array);
    return array;
  }
  if (stays && !header.element.swaps && IsAligned(from)) {
    array.data = from;
  } else {
    array.numbers.resize((size + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    Rearrange(header, from, reinterpret_cast<char*>(array.numbers.data()));
    array.data = array.numbers.data();
  }
  CheckTruths(array, name);
  return array;
}

}  // namespace tpuest::data
