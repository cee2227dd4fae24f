// The data of a dataset: in its header, in one piece, or in chunks, which may be compressed.
//
// Chunks are in a tree "TREE" (1, level, count [2], two neighbours, then keys and children in
// turn). A key consists of the stored size [4], the skipped filters [4], and the chunk's first
// index along each axis and within an element [8 each]. Chunks at the border are stored whole.

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "core/io/hdf5/header.h"

namespace tpuest {
namespace {

enum Filter : unsigned { kDeflate = 1, kShuffle = 2, kFletcher = 3 };

// Deflate expands one byte to at most 1032.
constexpr uint64_t kMostDeflated = 1032;

struct Chunk {
  std::vector<uint64_t> begin;  // along each axis
  uint64_t address;
  uint64_t size;      // stored bytes
  uint32_t left_out;  // bit i: the i-th filter was skipped
};

class Chunks {
 public:
  Chunks(const Hdf5Bytes& file, const Hdf5Header& header, std::string_view path)
      : file_(file), header_(header), path_(path) {
    Find();
  }

  void Copy(char* to) const {
    std::string raw;
    for (const Chunk& chunk : chunks_) {
      Unpack(chunk, raw);
      Place(chunk, raw.data(), to);
    }
  }

 private:
  // Finds all chunks. Checks that each position has exactly one chunk, and that its stored bytes
  // can expand to its size.
  void Find() {
    const std::vector<int64_t>& sizes = header_.space.shape.dims();
    if (header_.layout.chunk.size() != sizes.size()) {
      file_.Fault(path_, "damaged: its chunks have another rank");
    }
    uint64_t expected = 1;
    chunk_bytes_ = header_.type.size;
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      const uint64_t length = header_.layout.chunk[axis];
      constexpr uint64_t kMost = uint64_t{1} << 32;
      if (length == 0 || length > kMost || chunk_bytes_ > kMost) {
        file_.Fault(path_, fmt::format("damaged: chunks of {} elements along an axis", length));
      }
      chunk_bytes_ *= length;
      expected *= (static_cast<uint64_t>(sizes[axis]) + length - 1) / length;
    }
    for (const Hdf5Filter& filter : header_.filters) {
      if (filter.id < kDeflate || filter.id > kFletcher) {
        file_.Fault(path_,
                    fmt::format("packed by filter {}; deflate, shuffle and fletcher32 are "
                                "known",
                                filter.id),
                    "rewrite the file with `h5repack -f NONE`");
      }
    }
    if (header_.layout.kind == Hdf5Layout::Kind::kSingleChunk) {
      const uint64_t stored = header_.filters.empty() ? chunk_bytes_ : header_.layout.size;
      chunks_.push_back({std::vector<uint64_t>(sizes.size()), header_.layout.address, stored, 0});
    } else if (header_.layout.address != kNowhere) {
      ReadNode(header_.layout.address, -1);
    }
    if (chunks_.size() != expected) {
      file_.Fault(path_, fmt::format("damaged: {} chunks of {}", chunks_.size(), expected));
    }
    CheckChunks();
  }

  void CheckChunks() const {
    const std::vector<int64_t>& sizes = header_.space.shape.dims();
    std::set<std::vector<uint64_t>> begins;
    uint64_t stored = 0;
    for (const Chunk& chunk : chunks_) {
      bool belongs = begins.insert(chunk.begin).second;
      for (size_t axis = 0; axis < sizes.size(); ++axis) {
        belongs &= chunk.begin[axis] < static_cast<uint64_t>(sizes[axis]) &&
                   chunk.begin[axis] % header_.layout.chunk[axis] == 0;
      }
      if (!belongs) file_.Fault(path_, "damaged: a chunk where none belongs");
      static_cast<void>(file_.At(chunk.address, chunk.size, path_));
      stored += chunk.size;
      const uint64_t most = header_.filters.empty() ? chunk.size : kMostDeflated * chunk.size + 64;
      if (stored > file_.size() || chunk_bytes_ > most) {
        file_.Fault(path_,
                    fmt::format("damaged: {} bytes of a chunk in {}", chunk_bytes_, chunk.size));
      }
    }
  }

  void ReadNode(uint64_t address, int expected_level) {
    Hdf5Cursor cursor(file_, file_.From(address, path_), path_);
    cursor.Expect("TREE");
    if (cursor.U8() != 1) file_.Fault(path_, "damaged: a tree of names where chunks belong");
    const int level = cursor.U8();
    const unsigned count = cursor.U16();
    if (expected_level >= 0 && level != expected_level) {
      file_.Fault(path_, "damaged: the levels of its tree do not follow each other");
    }
    const size_t rank = header_.layout.chunk.size();
    file_.Spend(24 + count * (24 + 8 * rank), path_);
    cursor.Skip(16);
    for (unsigned i = 0; i < count; ++i) {
      Chunk chunk{};
      chunk.size = cursor.U32();
      chunk.left_out = cursor.U32();
      for (size_t axis = 0; axis < rank; ++axis) chunk.begin.push_back(cursor.U64());
      cursor.Skip(8);
      chunk.address = cursor.U64();
      if (level == 0) {
        chunks_.push_back(std::move(chunk));
      } else {
        ReadNode(chunk.address, level - 1);
      }
    }
  }

  // Filters were applied in their order, so this undoes them from the last to the first.
  void Unpack(const Chunk& chunk, std::string& raw) const {
    std::string_view bytes = file_.At(chunk.address, chunk.size, path_);
    std::string unpacked;
    for (size_t i = header_.filters.size(); i-- > 0;) {
      if (i < 32 && ((chunk.left_out >> i) & 1U) != 0) continue;
      switch (header_.filters[i].id) {
        case kFletcher:  // the checksum is the four bytes after the data
          if (bytes.size() < 4) file_.Fault(path_, "damaged: a chunk without its checksum");
          bytes.remove_suffix(4);
          break;
        case kDeflate:
          unpacked = Inflated(bytes);
          bytes = unpacked;
          break;
        default:
          unpacked = Unshuffled(bytes);
          bytes = unpacked;
      }
    }
    if (bytes.size() != chunk_bytes_) {
      file_.Fault(path_, fmt::format("damaged: a chunk of {} bytes, and {} belong there",
                                     bytes.size(), chunk_bytes_));
    }
    raw = bytes;
  }

  std::string Inflated(std::string_view bytes) const {
    // There is room for a checksum, if that filter was applied before this one.
    std::string out(chunk_bytes_ + 4, '\0');
    uLongf size = out.size();
    const int result = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                    reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    if (result != Z_OK) file_.Fault(path_, "damaged: its packed data cannot be unpacked");
    out.resize(size);
    return out;
  }

  // Undoes the shuffle filter, which stores the first bytes of all elements, then the second bytes,
  // and so on. Bytes beyond the last whole element stay as they are.
  std::string Unshuffled(std::string_view bytes) const {
    const uint64_t element = header_.type.size;
    const uint64_t count = bytes.size() / element;
    std::string out(bytes);
    for (uint64_t byte = 0; byte < element; ++byte) {
      for (uint64_t i = 0; i < count; ++i) out[i * element + byte] = bytes[byte * count + i];
    }
    return out;
  }

  // Copies the part of a chunk that lies within the shape, row by row.
  void Place(const Chunk& chunk, const char* raw, char* to) const {
    const std::vector<int64_t>& sizes = header_.space.shape.dims();
    const size_t rank = sizes.size();
    std::vector<uint64_t> extent(rank);  // of the part of the chunk that lies within the shape
    uint64_t rows = 1;
    for (size_t axis = 0; axis < rank; ++axis) {
      extent[axis] = std::min(header_.layout.chunk[axis],
                              static_cast<uint64_t>(sizes[axis]) - chunk.begin[axis]);
      if (axis + 1 < rank) rows *= extent[axis];
    }
    const uint64_t row_bytes = extent.back() * header_.type.size;
    std::vector<uint64_t> at(rank);
    for (uint64_t row = 0; row < rows; ++row) {
      uint64_t from_element = 0;
      uint64_t to_element = 0;
      for (size_t axis = 0; axis < rank; ++axis) {
        from_element = from_element * header_.layout.chunk[axis] + at[axis];
        to_element = to_element * static_cast<uint64_t>(sizes[axis]) + chunk.begin[axis] + at[axis];
      }
      std::memcpy(to + to_element * header_.type.size, raw + from_element * header_.type.size,
                  row_bytes);
      for (size_t axis = rank - 1; axis-- > 0;) {
        if (++at[axis] < extent[axis]) break;
        at[axis] = 0;
      }
    }
  }

  const Hdf5Bytes& file_;
  const Hdf5Header& header_;
  std::string_view path_;
  std::vector<Chunk> chunks_;
  uint64_t chunk_bytes_ = 0;
};

uint64_t DataBytes(const Hdf5Header& header) {
  return static_cast<uint64_t>(header.space.shape.elements()) * header.type.size;
}

}  // namespace

// Checks of chunks only that the file is large enough to contain them.
void CheckHdf5Data(const Hdf5Bytes& file, const Hdf5Header& header, std::string_view path) {
  const uint64_t size = DataBytes(header);
  if (size == 0) return;
  switch (header.layout.kind) {
    case Hdf5Layout::Kind::kNone:
      file.Fault(path, "damaged: its data are nowhere");
    case Hdf5Layout::Kind::kCompact:
      if (header.layout.compact.size() < size) {
        file.Fault(path, fmt::format("damaged: {} bytes of data in {}", size,
                                     header.layout.compact.size()));
      }
      break;
    case Hdf5Layout::Kind::kContiguous:
      if (header.layout.address == kNowhere) file.Fault(path, "its data were never written");
      if (header.layout.size < size) {
        file.Fault(path, fmt::format("damaged: {} bytes of data in {}", size, header.layout.size));
      }
      static_cast<void>(file.At(header.layout.address, size, path));
      break;
    case Hdf5Layout::Kind::kTreeOfChunks:
    case Hdf5Layout::Kind::kSingleChunk: {
      const Chunks chunks(file, header, path);
      break;
    }
  }
}

void ReadHdf5Data(const Hdf5Bytes& file, const Hdf5Header& header, char* to,
                  std::string_view path) {
  const uint64_t size = DataBytes(header);
  if (size == 0) return;
  if (header.layout.kind == Hdf5Layout::Kind::kCompact) {
    std::memcpy(to, header.layout.compact.data(), size);
  } else if (header.layout.kind == Hdf5Layout::Kind::kContiguous) {
    std::memcpy(to, file.At(header.layout.address, size, path).data(), size);
  } else {
    Chunks(file, header, path).Copy(to);
  }
}

}  // namespace tpuest
