#pragma once
// The source image_dataset_from_directory.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"

namespace tpuest::data {

// Images are decoded and resized as they are read. Kept: decoded once, in memory or in the options'
// cache_file. With errors that skip, every image is decoded when the source is opened, and those
// that cannot be are left out. Throws Error kUsage, kData.
[[nodiscard]] std::shared_ptr<IndexedSource> OpenImageFolder(const ImageFolderSource& options,
                                                             bool kept, const std::string& key,
                                                             const DataErrors& errors);
// The columns, where the options alone say them; nullopt: the folder says how many classes there
// are. Throws Error kUsage.
[[nodiscard]] std::optional<std::vector<TensorSpec>> KnownImageColumns(
    const ImageFolderSource& options, const std::string& key);

}  // namespace tpuest::data
