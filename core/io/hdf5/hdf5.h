#pragma once
// Reads HDF5 files from untrusted memory, as far as h5py writes them (superblocks 0 to 3, groups
// and attributes old and new, contiguous, compact and chunked data, deflate, shuffle, Fletcher's
// checksum). Refuses links other than hard ones, data in other files, virtual data, and types that
// tensors lack. Checks every offset, size and count against the available bytes, bounds every walk,
// and throws kData with the file's name and the object's path for every fault.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"
#include "core/tensor/tensor.h"

namespace tpuest {

class Hdf5Bytes;
struct Hdf5Header;

// A group or a dataset. Cheap to copy; keeps the bytes of its file alive.
class Hdf5Object {
 public:
  // "/model_weights/dense"; "/" for the root.
  [[nodiscard]] const std::string& path() const { return path_; }
  // For messages: "model.h5: /model_weights/dense".
  [[nodiscard]] std::string place() const;
  // The object's position in the file, which is the same for every path to the object.
  [[nodiscard]] uint64_t address() const { return address_; }

  // The names of a group's members, sorted; empty for a dataset.
  [[nodiscard]] std::vector<std::string> Names() const;
  // The object at a path of names separated by slashes, relative to this object; nullopt if it does
  // not exist.
  [[nodiscard]] std::optional<Hdf5Object> Find(std::string_view path) const;

  [[nodiscard]] bool HasAttribute(std::string_view name) const;
  // The strings of an attribute: one for a scalar; none for a missing attribute and for an empty
  // one of any type, because h5py writes an empty list as float64.
  [[nodiscard]] std::vector<std::string> Strings(std::string_view attribute) const;

  [[nodiscard]] bool is_dataset() const;
  // The dtype of a dataset; kInvalid for a type that tensors lack. Opaque two-byte elements are
  // kUint16.
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] bool opaque() const;
  [[nodiscard]] const Shape& shape() const;
  // The data of a dataset, as they are stored.
  [[nodiscard]] Tensor Read() const;

  // The root group. `owner` keeps `bytes` alive; `name` is what messages call the file.
  [[nodiscard]] static Hdf5Object Root(std::string name, std::string_view bytes,
                                       std::shared_ptr<const void> owner);

 private:
  Hdf5Object(std::shared_ptr<const Hdf5Bytes> file, uint64_t address, std::string path);

  std::shared_ptr<const Hdf5Bytes> file_;
  std::shared_ptr<const Hdf5Header> header_;
  uint64_t address_ = 0;
  std::string path_;
};

// Whether the bytes begin like an HDF5 file, possibly after a user block of 512, 1024, ... bytes.
[[nodiscard]] bool IsHdf5(std::string_view bytes);

}  // namespace tpuest
