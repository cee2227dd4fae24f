#pragma once
// HDF5 files, read from memory without trust: what h5py writes (superblocks 0 to 3, groups and
// attributes old and new, contiguous, compact and chunked data, deflate, shuffle, Fletcher's
// checksum). Links other than hard ones, data in other files, virtual data and types that are no
// tensor's are refused. Every offset, size and count is held against the bytes that there are,
// every walk ends, and every fault is an Error kData with the file's name and the object's path.

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
  // Where it begins in the file: one object has one address, however it is reached.
  [[nodiscard]] uint64_t address() const { return address_; }

  // What a group holds, sorted by name; nothing for a dataset.
  [[nodiscard]] std::vector<std::string> Names() const;
  // What names with slashes between them lead to from here; nullopt if they lead nowhere.
  [[nodiscard]] std::optional<Hdf5Object> Find(std::string_view path) const;

  [[nodiscard]] bool HasAttribute(std::string_view name) const;
  // The strings of an attribute: one for a scalar; none for an empty one of any type, as h5py
  // writes an empty list as float64, and for one that is not there.
  [[nodiscard]] std::vector<std::string> Strings(std::string_view attribute) const;

  [[nodiscard]] bool is_dataset() const;
  // Of a dataset; kInvalid for a type that no tensor has. Elements of two bytes of which the file
  // says no more are kUint16 and opaque.
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

// Whether the bytes begin as an HDF5 file does, be it behind a user block of 512, 1024, ... bytes.
[[nodiscard]] bool IsHdf5(std::string_view bytes);

}  // namespace tpuest
