#include "data/sources/json_scanner.h"

#include "core/base/error.h"
#include "core/base/utf8.h"

namespace tpuest::data {
namespace {

constexpr int kMostDepth = 64;  // of lists and objects in a skipped value

bool IsOfWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '+' || c == '.';
}

}  // namespace

void JsonScanner::Fail(const std::string& message, const std::string& hint) const {
  throw Error(Code::kData, message, hint);
}

std::string JsonScanner::Found() const {
  if (at_ >= text_.size()) return "the end of the line";
  const char c = text_[at_];
  if (c > ' ' && c < 0x7f) return fmt::format("'{}'", c);
  return fmt::format("the byte 0x{:02x}", static_cast<uint8_t>(c));
}

void JsonScanner::SkipSpace() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

void JsonScanner::Expect(char c) {
  SkipSpace();
  if (at_ >= text_.size() || text_[at_] != c)
    Fail(fmt::format("expected '{}', found {}", c, Found()));
  ++at_;
}

JsonScanner::Kind JsonScanner::Next() {
  SkipSpace();
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == '{') return Kind::kObject;
  if (c == '[') return Kind::kList;
  if (c == '"') return Kind::kText;
  if (c == 't' || c == 'f') return Kind::kTruth;
  if (c == 'n') return Kind::kNull;
  if (c == '-' || (c >= '0' && c <= '9') || c == 'N' || c == 'I') return Kind::kNumber;
  Fail("expected a value, found " + Found());
}

std::string_view JsonScanner::Word() {
  SkipSpace();
  const size_t begin = at_;
  while (at_ < text_.size() && IsOfWord(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

void JsonScanner::Null() {
  const size_t begin = at_;
  const std::string_view word = Word();
  if (word == "null") return;
  at_ = begin;
  Fail(fmt::format("expected null, found '{}'", word.substr(0, 20)));
}

std::string_view JsonScanner::Text(std::string& unescaped) {
  Expect('"');
  const size_t begin = at_;
  const size_t kept = unescaped.size();
  size_t piece = at_;
  for (;;) {
    if (at_ >= text_.size()) Fail("a string is never closed");
    const char c = text_[at_];
    if (c == '"') break;
    if (static_cast<uint8_t>(c) < 0x20) {
      Fail(fmt::format("{} in a string", Found()), "write such bytes as \\t, \\n or \\u00XX");
    }
    if (c != '\\') {
      ++at_;
      continue;
    }
    unescaped.append(text_.substr(piece, at_ - piece));
    ++at_;
    Unescape(unescaped);
    piece = at_;
  }
  const size_t end = at_++;
  if (piece == begin) return text_.substr(begin, end - begin);
  unescaped.append(text_.substr(piece, end - piece));
  return std::string_view(unescaped).substr(kept);
}

uint32_t JsonScanner::HexDigits() {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    const uint32_t digit = c >= '0' && c <= '9'   ? static_cast<uint32_t>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<uint32_t>(c - 'a') + 10
                           : c >= 'A' && c <= 'F' ? static_cast<uint32_t>(c - 'A') + 10
                                                  : 16;
    if (digit == 16) Fail("\\u needs 4 hexadecimal digits, found " + Found());
    value = value << 4 | digit;
  }
  return value;
}

// Decodes an escape, after its backslash.
void JsonScanner::Unescape(std::string& to) {
  constexpr std::string_view kLetters = "\"\\/bfnrt";
  constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (const size_t letter = kLetters.find(c); c != '\0' && letter != std::string_view::npos) {
    to.push_back(kBytes[letter]);
    ++at_;
    return;
  }
  if (c != 'u') Fail(fmt::format("unknown escape: \\ and {}", Found()));
  ++at_;
  uint32_t point = HexDigits();
  const auto is_surrogate = [](uint32_t unit, uint32_t first) {
    return unit >= first && unit < first + 0x400;
  };
  if (is_surrogate(point, 0xd800) && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    const uint32_t low = HexDigits();
    if (!is_surrogate(low, 0xdc00)) Fail("unpaired surrogate");
    point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
  } else if (is_surrogate(point, 0xd800) || is_surrogate(point, 0xdc00)) {
    Fail("unpaired surrogate");
  }
  AppendUtf8(point, to);
}

void JsonScanner::Begin(char bracket) {
  Expect(bracket);
  is_first_ = true;
}

bool JsonScanner::More(char bracket) {
  SkipSpace();
  const bool is_first = is_first_;
  is_first_ = false;
  const char c = at_ < text_.size() ? text_[at_] : '\0';
  if (c == bracket) {
    ++at_;
    return false;
  }
  if (is_first) return true;
  if (c != ',') Fail(fmt::format("expected ',' or '{}', found {}", bracket, Found()));
  ++at_;
  return true;
}

std::string_view JsonScanner::Key(std::string& unescaped) {
  const std::string_view key = Text(unescaped);
  Expect(':');
  return key;
}

void JsonScanner::SkipWithin(int depth) {
  if (depth > kMostDepth) Fail(fmt::format("lists and objects of more than {} levels", kMostDepth));
  std::string unused;
  const Kind kind = Next();
  switch (kind) {
    case Kind::kText:
      (void)Text(unused);
      return;
    case Kind::kNumber:
    case Kind::kTruth:
      (void)Word();
      return;
    case Kind::kNull:
      Null();
      return;
    case Kind::kObject:
    case Kind::kList:
      break;
  }
  const bool is_object = kind == Kind::kObject;
  const char close = is_object ? '}' : ']';
  Begin(is_object ? '{' : '[');
  while (More(close)) {
    if (is_object) (void)Key(unused);
    SkipWithin(depth + 1);
  }
}

void JsonScanner::Skip() { SkipWithin(0); }

void JsonScanner::End() {
  SkipSpace();
  if (at_ < text_.size()) Fail(fmt::format("expected the end of the line, found {}", Found()));
}

}  // namespace tpuest::data
