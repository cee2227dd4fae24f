#pragma once
// tpuest convert --keras: the weights of a model that Keras saved, as a checkpoint.

#include <string>

namespace tpuest::cli {

struct KerasConversion {
  std::string file;
  std::string output;  // the checkpoint's prefix
  bool force = false;
  bool dry_run = false;
  bool json = false;
};

// Writes every variable under Keras' name, including moving statistics, and global_step 0; returns
// exit code 0. Error kData for a file without layers or weights.
[[nodiscard]] int ConvertKeras(const KerasConversion& conversion);

}  // namespace tpuest::cli
