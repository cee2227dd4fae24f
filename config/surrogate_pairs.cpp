#include "config/surrogate_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "core/base/error.h"

namespace tpuest::config {
namespace {

constexpr size_t kEscapeBytes = 6;   // \ud83d
constexpr size_t kShorterBytes = 2;  // of \U0001f600 than of \ud83d\ude00

// The surrogate whose escape begins at a byte of the text.
std::optional<uint32_t> SurrogateAt(std::string_view text, size_t at) {
  const std::string_view escape = text.substr(std::min(at, text.size()), kEscapeBytes);
  if (escape.size() < kEscapeBytes || !escape.starts_with("\\u")) return std::nullopt;
  uint32_t unit = 0;
  const char* const end = escape.data() + kEscapeBytes;
  if (std::from_chars(escape.data() + 2, end, unit, 16).ptr != end) return std::nullopt;
  if (unit < 0xd800 || unit > 0xdfff) return std::nullopt;
  return unit;
}

bool IsLow(uint32_t unit) { return unit >= 0xdc00; }

}  // namespace

SurrogatePairs::SurrogatePairs(const YamlText& yaml, const std::vector<size_t>& quotes) {
  for (const size_t quote : quotes) ReadQuoted(yaml, quote);
}

void SurrogatePairs::ReadQuoted(const YamlText& yaml, size_t quote) {
  const std::string_view text = yaml.text();
  for (size_t at = quote + 1; at < text.size() && text[at] != '"';) {
    const std::optional<uint32_t> first = SurrogateAt(text, at);
    if (!first) {
      at += text[at] == '\\' ? 2 : 1;
      continue;
    }
    const std::optional<uint32_t> second = SurrogateAt(text, at + kEscapeBytes);
    if (IsLow(*first) || !second || !IsLow(*second)) {
      throw Error(Code::kUsage,
                  fmt::format("'{}' is half of a surrogate pair, without its other half",
                              text.substr(at, kEscapeBytes)),
                  R"(a character above U+FFFF is two escapes, as in "\ud83d\ude00", or one: )"
                  R"("\U0001f600")")
          .At(yaml.PlaceOf(at));
    }
    pairs_.push_back(at);
    at += 2 * kEscapeBytes;
  }
}

std::string SurrogatePairs::Joined(std::string_view text) const {
  std::string joined;
  joined.reserve(text.size());
  size_t done = 0;
  for (const size_t at : pairs_) {
    const uint32_t high = SurrogateAt(text, at).value_or(0) - 0xd800;
    const uint32_t low = SurrogateAt(text, at + kEscapeBytes).value_or(0) - 0xdc00;
    joined += text.substr(done, at - done);
    joined += fmt::format("\\U{:08x}", 0x10000 + (high << 10 | low));
    done = at + 2 * kEscapeBytes;
  }
  joined += text.substr(done);
  return joined;
}

size_t SurrogatePairs::Offset(size_t line_start, size_t column) const {
  const auto first = std::lower_bound(pairs_.begin(), pairs_.end(), line_start);
  // The nth pair of a line begins 2n bytes earlier in the joined text.
  const size_t* const begin = pairs_.data() + (first - pairs_.begin());
  const size_t* const end = pairs_.data() + pairs_.size();
  const size_t* const next = std::partition_point(begin, end, [&](const size_t& pair) {
    const auto before = static_cast<size_t>(&pair - begin);
    return pair - kShorterBytes * before < line_start + column;
  });
  return line_start + column + kShorterBytes * static_cast<size_t>(next - begin);
}

bool HasSurrogateEscape(std::string_view text) {
  for (size_t at = text.find("\\u"); at != std::string_view::npos; at = text.find("\\u", at + 1)) {
    if (SurrogateAt(text, at)) return true;
  }
  return false;
}

std::string WithoutSurrogates(std::string_view text) {
  std::string without(text);
  for (size_t at = text.find("\\u"); at != std::string_view::npos; at = text.find("\\u", at + 1)) {
    if (SurrogateAt(text, at)) without.replace(at, kEscapeBytes, "\\u0020");
  }
  return without;
}

}  // namespace tpuest::config
