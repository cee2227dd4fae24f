#pragma once
// The images of a folder, in the order of tf.keras.utils.image_dataset_from_directory.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/source_options.h"

namespace tpuest::data {

// A list of files and the label of each.
struct ImageList {
  std::vector<std::string> files;
  std::vector<int32_t> labels;           // empty: no labels
  std::vector<std::string> class_names;  // by label; empty without labels
  std::vector<std::string> unreadable;   // folders that were skipped
};

// Lists the files that the options name, shuffled and split. `key` is the source's key path. Throws
// kUsage for options, kData for a folder that does not match them.
[[nodiscard]] ImageList ListImages(const ImageFolderSource& options, const std::string& key);
// Checks the options as far as possible without the folder. Throws kUsage.
void CheckImageFolder(const ImageFolderSource& options, const std::string& key);

// Images below a folder, at any depth, sorted by folder path and file name. Adds folders without
// read permission to `unreadable`; Keras skips them silently.
[[nodiscard]] std::vector<std::string> ImagesBelow(const std::string& directory, bool follow_links,
                                                   std::vector<std::string>& unreadable);

// The order of a list of `count` elements after numpy.random.RandomState(seed).shuffle: position ->
// index.
[[nodiscard]] std::vector<size_t> NumpyShuffle(uint32_t seed, size_t count);

}  // namespace tpuest::data
