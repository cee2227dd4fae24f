#include "core/nn/vocabulary_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/process/files.h"

namespace tpuest::nn {

std::vector<std::string> VocabularyLines(const std::string& path,
                                         const std::optional<int64_t>& size) {
  std::vector<std::string> lines;
  const std::string text = ReadWords(path);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text, at, end - at);
    at = end + 1;
  }
  if (lines.empty()) throw Error(Code::kUsage, fmt::format("{}: the vocabulary is empty", path));
  if (!size) return lines;
  if (static_cast<int64_t>(lines.size()) < *size) {
    throw Error(Code::kUsage,
                fmt::format("{}: has {} lines, vocabulary_size is {}", path, lines.size(), *size));
  }
  lines.resize(static_cast<size_t>(*size));
  return lines;
}

}  // namespace tpuest::nn
