#pragma once
// Writes a folder of JPEG files for examples without a download: generated flowers, one folder per
// kind.

#include <cstdint>
#include <string>
#include <vector>

namespace tpuest::data {

struct ShapeFolder {
  std::string directory;  // must not exist, or be empty
  int64_t count = 1000;   // images in all
  int64_t size = 128;  // maximum height and width; each image has between 3/4 of it and all of it
  uint64_t seed = 0;
};

// Writes directory/kind/00000.jpg and so on. Returns the number of images per kind, in the order of
// ShapeNames(kFlowers). Throws kUsage for options and for a non-empty folder.
std::vector<int64_t> WriteShapeFolder(const ShapeFolder& folder);

}  // namespace tpuest::data
