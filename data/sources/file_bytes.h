#pragma once
// All bytes of a source's file: mapped if the file is plain, in memory if it is compressed or the
// standard input.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/process/files.h"
#include "data/source_options.h"

namespace tpuest::data {

class FileBytes {
 public:
  // compression_type: as in jobs. Throws kData for an unreadable file or another compression.
  FileBytes(std::string path, const std::string& compression_type);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string_view bytes() const { return mapped_ ? mapped_->bytes() : memory_; }
  // Throws kData if a mapped file has become shorter while it was read.
  void CheckWhole() const;

 private:
  std::string path_;
  std::unique_ptr<MappedFile> mapped_;
  std::string memory_;
};

// The files that `filenames` match: shell patterns, or only "-". Throws at key.filenames.
[[nodiscard]] std::vector<std::string> FindInputs(const std::vector<std::string>& filenames,
                                                  const std::string& key);
[[nodiscard]] std::vector<std::unique_ptr<FileBytes>> OpenFiles(const FilesSource& options,
                                                                const std::string& key);

}  // namespace tpuest::data
