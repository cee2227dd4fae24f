#include "config/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "core/base/utf8.h"

namespace tpuest::config {
namespace {

constexpr size_t kEscapeBytes = 6;   // \ud83d
constexpr size_t kShorterBytes = 2;  // of \U0001f600 than of \ud83d\ude00

// Returns the surrogate whose escape begins at a byte of the text.
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

YamlText::YamlText(std::string text, std::string file)
    : text_(std::move(text)), file_(std::move(file)) {
  FindLines();
}

YamlText::YamlText(std::string text, const Place& argument, std::string_view written)
    : text_(std::move(text)),
      file_(argument.file),
      argument_(true),
      argument_line_(argument.line),
      written_(written) {
  FindLines();
}

void YamlText::FindLines() {
  starts_.push_back(0);
  for (size_t at = 0; at < text_.size(); ++at) {
    if (text_[at] == '\n') starts_.push_back(at + 1);
  }
}

std::string_view YamlText::Line(int line) const {
  if (line < 0 || static_cast<size_t>(line) >= starts_.size()) return "";
  const size_t start = starts_[static_cast<size_t>(line)];
  return std::string_view(text_).substr(start, text_.find('\n', start) - start);
}

size_t YamlText::Offset(int line, int column) const {
  if (line < 0 || static_cast<size_t>(line) >= starts_.size()) return text_.size();
  const size_t offset =
      starts_[static_cast<size_t>(line)] + static_cast<size_t>(std::max(column, 0));
  return std::min(offset, text_.size());
}

Place YamlText::PlaceOf(size_t offset) const {
  if (argument_) {
    const std::string_view before = std::string_view(written_).substr(0, offset);
    return {file_, argument_line_, CountCharacters(before) + 1};
  }
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), offset);
  const size_t start = *(next - 1);
  const std::string_view before = std::string_view(text_).substr(start, offset - start);
  return {file_, static_cast<int>(next - starts_.begin()), CountCharacters(before) + 1};
}

size_t YamlText::SkipAnchor(size_t offset) const {
  if (offset >= text_.size() || text_[offset] != '&') return offset;
  const size_t end = text_.find_first_of(" \t\n", offset);
  const size_t value = text_.find_first_not_of(" \t", end);
  const bool in_line = end != std::string::npos && value != std::string::npos &&
                       text_[value] != '\n' && text_[value] != '#';
  return in_line ? value : offset;
}

int YamlText::QuotedWidth(size_t offset) const {
  const char quote = text_[offset];
  size_t end = offset + 1;
  while (end < text_.size() && text_[end] != quote)
    end += quote == '"' && text_[end] == '\\' ? 2 : 1;
  // Two single quotes inside single quotes mean one quote, and do not close the string.
  if (end >= text_.size()) return 0;
  if (quote == '\'' && end + 1 < text_.size() && text_[end + 1] == '\'') {
    const int rest = QuotedWidth(end + 1);
    if (rest == 0) return 0;
  }
  const std::string_view shown = std::string_view(text_).substr(offset, end + 1 - offset);
  return CountCharacters(shown.substr(0, shown.find('\n')));
}

int YamlText::PlainWidth(size_t offset, std::string_view value) const {
  const std::string_view rest = std::string_view(text_).substr(std::min(offset, text_.size()));
  const std::string_view line = rest.substr(0, rest.find('\n'));
  return CountCharacters(line.substr(0, value.size()));
}

std::string NormalisedText(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::string normal;
  normal.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\r') {
      normal += text[at];
    } else if (at + 1 == text.size() || text[at + 1] != '\n') {
      normal += '\n';
    }
  }
  return normal;
}

void CheckEncoding(const YamlText& yaml) {
  const std::string& text = yaml.text();
  const size_t invalid = FindInvalidUtf8(text);
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n';
  });
  const size_t at = std::min(invalid, static_cast<size_t>(control - text.begin()));
  if (at >= text.size()) return;
  const std::string what = at == invalid ? "is not UTF-8" : "is a control character";
  throw Error(Code::kUsage,
              fmt::format("byte 0x{:02x} {}", static_cast<unsigned char>(text[at]), what),
              "a job is YAML text in UTF-8")
      .At(yaml.PlaceOf(at));
}

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
                  R"(write a character above U+FFFF as two escapes, as in "\ud83d\ude00", or one: )"
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
