#pragma once
// The lines of text files as records that can be read in any order. The start of each line is found
// once and takes eight bytes.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/estimator/contract/contract.h"
#include "data/sources/file_bytes.h"

namespace tpuest::data {

class LineFiles {
 public:
  // `skips_blank` skips lines of white space. With a `comment` character, also skips lines without
  // text before it.
  LineFiles(std::vector<std::unique_ptr<FileBytes>> files, bool skips_blank, char comment = '\0');

  [[nodiscard]] int64_t size() const { return starts_.back(); }
  // The number of one file's records.
  [[nodiscard]] int64_t SizeOf(size_t file) const {
    return static_cast<int64_t>(offsets_[file].size());
  }
  [[nodiscard]] std::vector<std::string> paths() const;
  // The bytes before the line's "\n". Any thread. Throws kData if the file has become shorter.
  [[nodiscard]] std::string_view Line(int64_t index) const;
  // The line's file, and its number in the file.
  [[nodiscard]] Provenance FromOf(int64_t index) const;
  // The line and column of a byte of a record.
  [[nodiscard]] Place PlaceOf(int64_t index, size_t offset) const;

 private:
  std::vector<std::unique_ptr<FileBytes>> files_;
  std::vector<std::vector<uint64_t>> offsets_;  // of each file's lines
  std::vector<int64_t> starts_ = {0};           // index of each file's first line, and the end
};

}  // namespace tpuest::data
