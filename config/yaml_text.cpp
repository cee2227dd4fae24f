#include "config/yaml_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/utf8.h"

namespace tpuest::config {

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
  // Two single quotes inside single quotes are one of them: they must close behind it.
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

}  // namespace tpuest::config
