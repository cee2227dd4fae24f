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
  std::vector<int32_t> labels;           // empty: there are none
  std::vector<std::string> class_names;  // by label; empty without labels
  std::vector<std::string> unreadable;   // folders that were skipped
};

// The files that the options name: found, shuffled, split. `key` is the source's key path. Throws
// Error kUsage for options, kData for a folder that has not what they say.
[[nodiscard]] ImageList ListImages(const ImageFolderSource& options, const std::string& key);
// What can be said of the options without the folder. Throws Error kUsage.
void CheckImageFolder(const ImageFolderSource& options, const std::string& key);

// Images below a folder, at any depth: folders by their paths, files by their names. Adds folders
// below it that permissions keep closed to `unreadable`, where Keras skips them without a word.
[[nodiscard]] std::vector<std::string> ImagesBelow(const std::string& directory, bool follow_links,
                                                   std::vector<std::string>& unreadable);

// The order that numpy.random.RandomState(seed).shuffle gives a list of `count`: place -> index.
[[nodiscard]] std::vector<size_t> NumpyShuffle(uint32_t seed, size_t count);

}  // namespace tpuest::data
