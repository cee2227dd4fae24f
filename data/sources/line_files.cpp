#include "data/sources/line_files.h"

#include <algorithm>
#include <utility>

namespace tpuest::data {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// The line that begins at `begin`, without its "\n".
std::string_view LineAt(std::string_view bytes, size_t begin) {
  const size_t end = bytes.find('\n', begin);
  return bytes.substr(begin, end == std::string_view::npos ? end : end - begin);
}

bool IsBlank(std::string_view line, char comment) {
  const size_t first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos || (comment != '\0' && line[first] == comment);
}

std::vector<uint64_t> LinesOf(std::string_view bytes, bool skips_blank, char comment) {
  std::vector<uint64_t> offsets;
  // The byte order mark is not part of the text in a format that allows white space there.
  size_t at = skips_blank && bytes.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  while (at < bytes.size()) {
    const std::string_view line = LineAt(bytes, at);
    if (!skips_blank || !IsBlank(line, comment)) offsets.push_back(at);
    at += line.size() + 1;
  }
  return offsets;
}

}  // namespace

LineFiles::LineFiles(std::vector<std::unique_ptr<FileBytes>> files, bool skips_blank, char comment)
    : files_(std::move(files)) {
  for (const auto& file : files_) {
    offsets_.push_back(LinesOf(file->bytes(), skips_blank, comment));
    starts_.push_back(starts_.back() + static_cast<int64_t>(offsets_.back().size()));
  }
}

std::vector<std::string> LineFiles::paths() const {
  std::vector<std::string> paths;
  for (const auto& file : files_) paths.push_back(file->path());
  return paths;
}

Provenance LineFiles::FromOf(int64_t index) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), index);
  const auto file = static_cast<size_t>(after - starts_.begin()) - 1;
  return {static_cast<int32_t>(file), index - starts_[file]};
}

std::string_view LineFiles::Line(int64_t index) const {
  const Provenance from = FromOf(index);
  const auto file = static_cast<size_t>(from.file);
  const std::string_view line =
      LineAt(files_[file]->bytes(), offsets_[file][static_cast<size_t>(from.record)]);
  files_[file]->CheckWhole();
  return line;
}

Place LineFiles::PlaceOf(int64_t index, size_t offset) const {
  const Provenance from = FromOf(index);
  const auto file = static_cast<size_t>(from.file);
  const std::string_view bytes = files_[file]->bytes();
  const uint64_t begin = offsets_[file][static_cast<size_t>(from.record)];
  const std::string_view before = bytes.substr(0, begin);
  const std::string_view in_line = bytes.substr(begin, offset);
  // Columns count characters, not continuation bytes.
  const auto characters = std::count_if(in_line.begin(), in_line.end(), [](char c) {
    return (static_cast<uint8_t>(c) & 0xc0) != 0x80;
  });
  return {files_[file]->path(),
          static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1,
          static_cast<int>(characters) + 1};
}

}  // namespace tpuest::data
