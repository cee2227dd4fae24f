#pragma once
// A folder of JPEG files to learn from without downloading one: drawn flowers, a folder a kind.

#include <cstdint>
#include <string>
#include <vector>

namespace tpuest::data {

struct ShapeFolder {
  std::string directory;  // that is not there yet, or empty
  int64_t count = 1000;   // images in all
  int64_t size = 128;     // of the largest; each has between 3/4 of it and all of it
  uint64_t seed = 0;
};

// Writes directory/kind/00000.jpg and so on; gives how many images each kind has, in the order of
// ShapeNames(kFlowers). Throws Error kUsage for options and for a folder that holds something.
std::vector<int64_t> WriteShapeFolder(const ShapeFolder& folder);

}  // namespace tpuest::data
