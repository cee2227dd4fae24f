// An object's header is a list of messages: the type and shape of a dataset and the address of its
// data, the members of a group, and attributes. Continuation blocks may hold more of the header
// elsewhere in the file.
//
//   version 1: version, 0, count of messages [2], references [4], size of this part [4], 0 [4]; a
//     message is type [2], size [2], flags, 0 [3], data. Continuation blocks hold only messages.
//   version 2: "OHDR", 2, flags, (times [16]), (limits of attributes [4]), size of this part
//     [1 to 8];
//     a message is type [1], size [2], flags, (order [2]), data; checksum [4]. Continuation
//     blocks begin with "OCHK" and end with a checksum.

#include "core/io/hdf5/header.h"

#include <fmt/format.h>

#include <utility>

namespace tpuest {
namespace {

enum Message : unsigned {
  kSpace = 0x01,
  kLinkInfo = 0x02,
  kType = 0x03,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0B,
  kAttribute = 0x0C,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
  kAttributeInfo = 0x15,
};
constexpr unsigned kShared = 0x02;  // flag of a message that is stored elsewhere

struct Part {
  uint64_t address;
  uint64_t size;
};

class HeaderReader {
 public:
  HeaderReader(const Hdf5Bytes& file, const std::string& path) : file_(file), path_(path) {}

  Hdf5Header Read(uint64_t address) {
    if (file_.At(address, 4, path_) == "OHDR") {
      ReadSecond(address);
    } else {
      ReadFirst(address);
    }
    return std::move(header_);
  }

 private:
  void ReadFirst(uint64_t address) {
    Hdf5Cursor head(file_, file_.At(address, 16, path_), path_);
    if (const unsigned version = head.U8(); version != 1) {
      file_.Fault(path_, fmt::format("damaged: an object's header of version {}", version));
    }
    head.Skip(7);
    parts_.push_back({address + 16, head.U32()});
    for (size_t i = 0; i < parts_.size(); ++i) {
      const std::string_view bytes = file_.At(parts_[i].address, parts_[i].size, path_);
      file_.Spend(bytes.size() + 64, path_);
      Hdf5Cursor cursor(file_, bytes, path_);
      while (cursor.left() >= 8) {
        const unsigned type = cursor.U16();
        const unsigned size = cursor.U16();
        const unsigned flags = cursor.U8();
        cursor.Skip(3);
        Take(type, flags, cursor.Take(size));
      }
    }
  }

  void ReadSecond(uint64_t address) {
    Hdf5Cursor head(file_, file_.From(address, path_), path_);
    head.Expect("OHDR");
    if (const unsigned version = head.U8(); version != 2) {
      file_.Fault(path_, fmt::format("damaged: an object's header of version {}", version));
    }
    const unsigned flags = head.U8();
    if ((flags & 0x20U) != 0) head.Skip(16);
    if ((flags & 0x10U) != 0) head.Skip(4);
    const uint64_t size = head.Unsigned(uint64_t{1} << (flags & 3U));
    const uint64_t begin = file_.From(address, path_).size() - head.left();
    static_cast<void>(head.Take(size));
    head.Skip(4);
    const bool has_order = (flags & 0x04U) != 0;
    parts_.push_back({address, begin + size + 4});
    for (size_t i = 0; i < parts_.size(); ++i) {
      std::string_view bytes = file_.At(parts_[i].address, parts_[i].size, path_);
      file_.Spend(bytes.size() + 64, path_);
      CheckHdf5Sum(file_, bytes, path_);
      Hdf5Cursor cursor(file_, bytes.substr(0, bytes.size() - 4), path_);
      if (i == 0) {
        cursor.Skip(begin);
      } else {
        cursor.Expect("OCHK");
      }
      ReadSecondMessages(cursor, has_order);
    }
  }

  void ReadSecondMessages(Hdf5Cursor& cursor, bool has_order) {
    const uint64_t head_size = has_order ? 6 : 4;
    while (cursor.left() >= head_size) {  // fewer bytes than a message needs are a gap
      const unsigned type = cursor.U8();
      const unsigned size = cursor.U16();
      const unsigned flags = cursor.U8();
      if (has_order) cursor.Skip(2);
      Take(type, flags, cursor.Take(size));
    }
  }

  void Take(unsigned type, unsigned flags, std::string_view data) {
    if ((flags & kShared) != 0 && (type == kSpace || type == kType || type == kFilters)) {
      file_.Fault(path_, "has a type of another object; only types of its own can be read",
                  "copy it with h5py or h5repack into a new file");
    }
    Hdf5Cursor cursor(file_, data, path_);
    switch (type) {
      case kSpace:
        header_.space = ReadHdf5Space(file_, data, path_);
        break;
      case kType:
        header_.type = ReadHdf5Type(file_, data, path_);
        break;
      case kLayout:
        header_.is_dataset = true;
        header_.layout = ReadHdf5Layout(file_, data, path_);
        break;
      case kFilters:
        header_.filters = ReadHdf5Filters(file_, data, path_);
        break;
      case kExternalFiles:
        file_.Fault(path_, "its data are in other files; only data in this file are read");
      case kLink:
        ReadHdf5Link(file_, data, header_, path_);
        break;
      case kSymbolTable: {
        const uint64_t tree = cursor.U64();
        ReadHdf5SymbolTable(file_, tree, cursor.U64(), header_, path_);
        break;
      }
      case kLinkInfo:
        TakeLinkInfo(cursor);
        break;
      case kAttribute:
        if ((flags & kShared) == 0) TakeAttribute(data);
        break;
      case kAttributeInfo:
        TakeAttributeInfo(cursor);
        break;
      case kContinuation: {
        const uint64_t address = cursor.U64();
        parts_.push_back({address, cursor.U64()});
        break;
      }
      default:
        break;
    }
  }

  void TakeAttribute(std::string_view data) {
    header_.attributes.emplace(Hdf5AttributeName(file_, data, path_), data);
  }

  // Version, flags, (greatest order [8]), the heap, the tree by names, (the tree by order).
  void TakeLinkInfo(Hdf5Cursor& cursor) {
    cursor.Skip(1);
    if ((cursor.U8() & 1U) != 0) cursor.Skip(8);
    const uint64_t heap = cursor.U64();
    const uint64_t tree = cursor.U64();
    if (heap == kNowhere) return;
    for (const std::string_view link : ReadHdf5DenseMessages(file_, heap, tree, path_)) {
      ReadHdf5Link(file_, link, header_, path_);
    }
  }

  // As above, but the order has two bytes.
  void TakeAttributeInfo(Hdf5Cursor& cursor) {
    cursor.Skip(1);
    if ((cursor.U8() & 1U) != 0) cursor.Skip(2);
    const uint64_t heap = cursor.U64();
    const uint64_t tree = cursor.U64();
    if (heap == kNowhere) return;
    for (const std::string_view message : ReadHdf5DenseMessages(file_, heap, tree, path_)) {
      TakeAttribute(message);
    }
  }

  const Hdf5Bytes& file_;
  const std::string& path_;
  std::vector<Part> parts_;
  Hdf5Header header_;
};

}  // namespace

std::shared_ptr<const Hdf5Header> ReadHdf5Header(const Hdf5Bytes& file, uint64_t address,
                                                 const std::string& path) {
  std::shared_ptr<const Hdf5Header>& header = file.headers[address];
  if (header == nullptr) {
    header = std::make_shared<const Hdf5Header>(HeaderReader(file, path).Read(address));
  }
  return header;
}

}  // namespace tpuest
