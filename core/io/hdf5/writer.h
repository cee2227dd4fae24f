#pragma once
// Writes HDF5 files: groups and datasets in h5py's oldest format, which every reader supports.

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "core/tensor/tensor.h"

namespace tpuest {

class Hdf5Writer {
 public:
  // Makes a group and its parents; names are separated by slashes. Does nothing if the group
  // exists.
  void AddGroup(std::string_view path);
  // Adds a tensor of numbers. bfloat16, which HDF5 lacks, becomes float32; bool becomes a byte.
  void AddDataset(std::string_view path, const Tensor& tensor);
  // Returns the whole file. The order of the calls does not change the bytes.
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
