#pragma once
// The contents of an object's header. Private to the reader.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/io/hdf5/bytes.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

namespace tpuest {

struct Hdf5Type {
  enum class Kind { kNumber, kText, kReferredText, kOther };
  Kind kind = Kind::kOther;
  DType dtype = DType::kInvalid;
  uint64_t size = 0;  // bytes of an element
  bool big_endian = false;
  bool opaque = false;
  std::string name;  // for messages: the name of a type that tensors lack
};

struct Hdf5Space {
  Shape shape;
  bool null = false;  // no elements, not even a scalar
};

struct Hdf5Attribute {
  std::string name;
  Hdf5Type type;
  Hdf5Space space;
  std::string_view data;
};

// Describes how and where a dataset's data are stored.
struct Hdf5Layout {
  enum class Kind { kNone, kCompact, kContiguous, kTreeOfChunks, kSingleChunk };
  Kind kind = Kind::kNone;
  uint64_t address = kNowhere;  // of the data, the tree or the chunk
  uint64_t size = 0;            // stored bytes of the data, or of a filtered single chunk
  std::string_view compact;     // the data themselves
  std::vector<uint64_t> chunk;  // elements along each axis
};

struct Hdf5Filter {
  unsigned id = 0;
  bool optional = false;
};

struct Hdf5Header {
  std::map<std::string, uint64_t, std::less<>> links;  // of a group: the addresses of its members
  std::map<std::string, std::string_view, std::less<>> attributes;  // messages of the attributes
  bool is_dataset = false;
  Hdf5Type type;
  Hdf5Space space;
  Hdf5Layout layout;
  std::vector<Hdf5Filter> filters;
};

// The header at an address; each header of a file is read once.
[[nodiscard]] std::shared_ptr<const Hdf5Header> ReadHdf5Header(const Hdf5Bytes& file,
                                                               uint64_t address,
                                                               const std::string& path);

[[nodiscard]] Hdf5Type ReadHdf5Type(const Hdf5Bytes& file, std::string_view message,
                                    std::string_view path);
[[nodiscard]] Hdf5Space ReadHdf5Space(const Hdf5Bytes& file, std::string_view message,
                                      std::string_view path);
[[nodiscard]] std::string Hdf5AttributeName(const Hdf5Bytes& file, std::string_view message,
                                            std::string_view path);
[[nodiscard]] Hdf5Attribute ReadHdf5Attribute(const Hdf5Bytes& file, std::string_view message,
                                              std::string_view path);
[[nodiscard]] Hdf5Layout ReadHdf5Layout(const Hdf5Bytes& file, std::string_view message,
                                        std::string_view path);
[[nodiscard]] std::vector<Hdf5Filter> ReadHdf5Filters(const Hdf5Bytes& file,
                                                      std::string_view message,
                                                      std::string_view path);

// Adds the links of an old group: a tree of symbol tables, and a heap of their names.
void ReadHdf5SymbolTable(const Hdf5Bytes& file, uint64_t tree, uint64_t heap, Hdf5Header& header,
                         std::string_view path);
// Adds the link that a message describes.
void ReadHdf5Link(const Hdf5Bytes& file, std::string_view message, Hdf5Header& header,
                  std::string_view path);
// The messages (links, attributes) in a fractal heap that the records of a tree refer to.
[[nodiscard]] std::vector<std::string_view> ReadHdf5DenseMessages(const Hdf5Bytes& file,
                                                                  uint64_t heap, uint64_t tree,
                                                                  std::string_view path);

// Throws an Error if the file cannot contain as many data as a dataset's shape and type require.
// Callers check this before they allocate memory.
void CheckHdf5Data(const Hdf5Bytes& file, const Hdf5Header& header, std::string_view path);
// Reads the data, in the type's stored form, to memory of that many bytes.
void ReadHdf5Data(const Hdf5Bytes& file, const Hdf5Header& header, char* to, std::string_view path);

}  // namespace tpuest
