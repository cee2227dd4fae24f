#include "core/io/hdf5/hdf5.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/io/hdf5/header.h"
#include "core/tensor/bool_bytes.h"

namespace tpuest {
namespace {

// Returns "/a/b" for "/a" and "b".
std::string Below(const std::string& path, std::string_view name) {
  std::string below = path == "/" ? "" : path;
  below += '/';
  below += name;
  return below;
}

// Removes the padding at the end of a string of fixed size: NULs, or spaces, which Fortran writes
// and which h5py keeps.
std::string Trimmed(std::string_view text) { return std::string(text.substr(0, text.find('\0'))); }

// A string that an attribute refers to: its size [4], the address of a collection, its number in it
// [4]. A collection is "GCOL", 1, 0 [3], size, then objects: number [2], references [2], 0 [4],
// size, data padded to 8.
std::string ReferredText(const Hdf5Bytes& file, Hdf5Cursor& reference, std::string_view path) {
  const uint64_t size = reference.U32();
  const uint64_t address = reference.U64();
  const uint32_t number = reference.U32();
  if (size == 0) return "";
  Hdf5Cursor head(file, file.At(address, 16, path), path);
  head.Expect("GCOL");
  head.Skip(4);
  const uint64_t collection_size = head.U64();
  Hdf5Cursor objects(file, file.At(address, collection_size, path), path);
  objects.Skip(16);
  while (objects.left() >= 16) {
    file.Spend(16, path);
    const unsigned found = objects.U16();
    objects.Skip(6);
    const uint64_t found_size = objects.U64();
    if (found == 0) break;  // free space up to the end
    const std::string_view data = objects.Take(found_size);
    if (found == number) {
      if (size > data.size()) break;
      file.Spend(size, path);
      return Trimmed(data.substr(0, size));
    }
    objects.Skip(std::min((8 - found_size % 8) % 8, objects.left()));
  }
  file.Fault(path, "damaged: the text of an attribute is missing");
}

void ReverseBytes(char* data, size_t bytes, size_t element) {
  for (size_t at = 0; at + element <= bytes; at += element) {
    std::reverse(data + at, data + at + element);
  }
}

}  // namespace

Hdf5Object::Hdf5Object(std::shared_ptr<const Hdf5Bytes> file, uint64_t address, std::string path)
    : file_(std::move(file)), address_(address), path_(std::move(path)) {
  header_ = ReadHdf5Header(*file_, address_, path_);
}

Hdf5Object Hdf5Object::Root(std::string name, std::string_view bytes,
                            std::shared_ptr<const void> owner) {
  auto file = std::make_shared<const Hdf5Bytes>(std::move(name), bytes, std::move(owner));
  const uint64_t root = file->root();
  return {std::move(file), root, "/"};
}

std::string Hdf5Object::place() const { return file_->name() + ": " + path_; }

std::vector<std::string> Hdf5Object::Names() const {
  std::vector<std::string> names;
  names.reserve(header_->links.size());
  for (const auto& [name, address] : header_->links) names.push_back(name);
  return names;
}

std::optional<Hdf5Object> Hdf5Object::Find(std::string_view path) const {
  // No model is nested deeper; a damaged file may ask for more.
  constexpr int kMostDepth = 256;
  Hdf5Object object = *this;
  for (int depth = 0; !path.empty(); ++depth) {
    if (depth == kMostDepth) file_->Fault(path_, "a path of more than 256 names is asked for");
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    if (name.empty() || name == ".") continue;
    const auto found = object.header_->links.find(name);
    if (found == object.header_->links.end()) return std::nullopt;
    object = Hdf5Object(file_, found->second, Below(object.path_, name));
  }
  return object;
}

bool Hdf5Object::HasAttribute(std::string_view name) const {
  return header_->attributes.find(name) != header_->attributes.end();
}

std::vector<std::string> Hdf5Object::Strings(std::string_view attribute) const {
  const auto message = header_->attributes.find(attribute);
  if (message == header_->attributes.end()) return {};
  const std::string place = fmt::format("{}: attribute {}", path_, attribute);
  const Hdf5Attribute found = ReadHdf5Attribute(*file_, message->second, place);
  if (found.space.null) return {};
  const auto count = static_cast<uint64_t>(found.space.shape.elements());
  if (count == 0) return {};
  if (found.type.kind != Hdf5Type::Kind::kText &&
      found.type.kind != Hdf5Type::Kind::kReferredText) {
    file_->Fault(place, fmt::format("holds {} values; strings are expected", found.type.name));
  }
  if (found.type.size > found.data.size() / count) {
    file_->Fault(place, fmt::format("damaged: {} strings in {} bytes", count, found.data.size()));
  }
  Hdf5Cursor cursor(*file_, found.data, place);
  std::vector<std::string> strings;
  strings.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view element = cursor.Take(found.type.size);
    if (found.type.kind == Hdf5Type::Kind::kText) {
      strings.push_back(Trimmed(element));
    } else {
      Hdf5Cursor reference(*file_, element, place);
      strings.push_back(ReferredText(*file_, reference, place));
    }
  }
  return strings;
}

bool Hdf5Object::is_dataset() const { return header_->is_dataset; }
DType Hdf5Object::dtype() const { return header_->type.dtype; }
bool Hdf5Object::opaque() const { return header_->type.opaque; }
const Shape& Hdf5Object::shape() const { return header_->space.shape; }

Tensor Hdf5Object::Read() const {
  if (!is_dataset()) file_->Fault(path_, "is a group; data are expected");
  const Hdf5Type& type = header_->type;
  if (type.kind != Hdf5Type::Kind::kNumber) {
    file_->Fault(path_, fmt::format("holds {} values of {} bytes, which no tensor has", type.name,
                                    type.size));
  }
  if (header_->space.null) file_->Fault(path_, "holds nothing, not even one value");
  CheckHdf5Data(*file_, *header_, path_);
  Tensor tensor(type.dtype, shape());
  auto* const data = static_cast<char*>(tensor.raw());
  ReadHdf5Data(*file_, *header_, data, path_);
  if (type.big_endian) ReverseBytes(data, tensor.bytes(), SizeOf(type.dtype));
  NormalizeBools(type.dtype, data, tensor.bytes());
  return tensor;
}

}  // namespace tpuest
