#pragma once
// HDF5 files, written: groups and datasets as h5py's oldest format has them, which every reader
// knows.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/tensor/tensor.h"

namespace tpuest {

class Hdf5Writer {
 public:
  // Makes a group and its parents; names are separated by slashes. Nothing happens to one that is
  // there.
  void AddGroup(std::string_view path);
  // Adds a tensor of numbers; bfloat16, which HDF5 has not, becomes float32, bool a byte.
  void AddDataset(std::string_view path, const Tensor& tensor);
  // All of the file. The same bytes for the same calls, in whatever order.
  [[nodiscard]] std::string Finish() const;

 private:
  struct Node {
    std::map<std::string, Node, std::less<>> children;
    Tensor tensor;  // of a dataset
  };
  class File;
  Node& Reach(std::string_view path);

  Node root_;
};

}  // namespace tpuest
