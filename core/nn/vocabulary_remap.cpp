#include "core/nn/vocabulary_remap.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "core/base/error.h"
#include "core/base/process/files.h"

namespace tpuest {
namespace {

int64_t ProductOf(const Shape& shape, int begin, int end) {
  int64_t product = 1;
  for (int i = begin; i < end; ++i) product *= shape.dim(i);
  return product;
}

}  // namespace

std::vector<std::string> ReadVocabulary(const std::string& path, int64_t size) {
  const std::string text = ReadWords(path);
  std::vector<std::string> words;
  size_t begin = 0;
  while (begin < text.size() && (size < 0 || static_cast<int64_t>(words.size()) < size)) {
    const size_t newline = std::min(text.find('\n', begin), text.size());
    std::string_view line(text.data() + begin, newline - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = newline + 1;
    if (line.empty()) {
      throw Error(Code::kData,
                  fmt::format("Invalid content in {}: empty line found at position {}.", path,
                              std::min(begin, text.size())),
                  "write one word per line, without empty lines");
    }
    words.emplace_back(line);
  }
  if (size >= 0 && static_cast<int64_t>(words.size()) < size) {
    throw Error(Code::kData, fmt::format("Invalid vocab_size in {}: expected {} but got {}", path,
                                         size, words.size()));
  }
  return words;
}

std::vector<int64_t> MapVocabulary(const std::vector<std::string>& new_words,
                                   const std::vector<std::string>& old_words) {
  std::unordered_map<std::string_view, int64_t> ids;
  for (size_t i = 0; i < old_words.size(); ++i) {
    const auto [at, is_new] = ids.emplace(old_words[i], static_cast<int64_t>(i));
    if (is_new) continue;
    throw Error(Code::kData,
                fmt::format("HashTable has different value for same key. Key {} has {} and trying "
                            "to add value {}",
                            old_words[i], at->second, i),
                "old_vocab must not repeat a word");
  }
  std::vector<int64_t> from;
  std::vector<int64_t> taken(old_words.size(), -1);
  for (const std::string& word : new_words) {
    const auto found = ids.find(word);
    from.push_back(found == ids.end() ? -1 : found->second);
    if (found == ids.end()) continue;
    int64_t& by = taken[static_cast<size_t>(found->second)];
    const auto id = static_cast<int64_t>(from.size()) - 1;
    if (by >= 0) {
      throw Error(
          Code::kData,
          fmt::format("Old ID {} is mapped to both new ID {} and {}, which is not supported.",
                      found->second, by, id),
          fmt::format("new_vocab contains \"{}\" twice", word));
    }
    by = id;
  }
  return from;
}

Tensor RemapAxis(const Tensor& old, const Tensor& backup, const std::vector<int64_t>& from,
                 int axis) {
  const Shape& shape = backup.shape();
  Tensor result = backup.Clone();
  const int64_t outer = ProductOf(shape, 0, axis);
  const auto inner =
      static_cast<size_t>(ProductOf(shape, axis + 1, shape.rank())) * SizeOf(backup.dtype());
  const int64_t old_size = old.shape().dim(axis);
  const auto* const source = static_cast<const char*>(old.raw());
  auto* const target = static_cast<char*>(result.raw());
  for (int64_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < from.size(); ++i) {
      if (from[i] < 0) continue;
      const auto to = static_cast<size_t>(o * shape.dim(axis)) + i;
      const auto at = static_cast<size_t>(o * old_size + from[i]);
      std::memcpy(target + to * inner, source + at * inner, inner);
    }
  }
  return result;
}

}  // namespace tpuest
