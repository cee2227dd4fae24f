#pragma once
// The source image_dataset_from_directory.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/source.h"

namespace tpuest::data {

// Decodes and resizes images as they are read; a cached source decodes each once and keeps it in
// memory or in the options' cache_file. If `errors` skips bad records, decodes every image when the
// source is opened and leaves out unreadable ones. Throws kUsage, kData.
[[nodiscard]] std::shared_ptr<IndexedSource> OpenImageFolder(const ImageFolderSource& options,
                                                             bool kept, const std::string& key,
                                                             const DataErrors& errors);
// The columns, if the options determine them; nullopt if the number of classes depends on the
// folder. Throws kUsage.
[[nodiscard]] std::optional<std::vector<TensorSpec>> KnownImageColumns(
    const ImageFolderSource& options, const std::string& key);

}  // namespace tpuest::data
