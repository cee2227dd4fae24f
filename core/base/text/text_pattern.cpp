#include "core/base/text/text_pattern.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/error.h"
#include "core/base/process/interrupt.h"

#ifdef TPUEST_HAS_RE2
#include <re2/re2.h>
#endif

namespace tpuest {

#ifdef TPUEST_HAS_RE2

struct TextPattern::Compiled {
  re2::RE2 re;
};

namespace {

re2::StringPiece PieceOf(std::string_view text) { return {text.data(), text.size()}; }

re2::RE2::Options QuietOptions() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

// The bytes of the UTF-8 character that the text begins with; 1 if it is none. Bounds are those of
// RE2's chartorune: surrogates are characters.
size_t RuneBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const size_t size = text.empty() || byte(0) < 0xC2 ? 1
                      : byte(0) < 0xE0               ? 2
                      : byte(0) < 0xF0               ? 3
                      : byte(0) < 0xF5               ? 4
                                                     : 1;
  if (size > text.size()) return 1;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 1;
  }
  if (byte(0) == 0xE0 && byte(1) < 0xA0) return 1;
  if (byte(0) == 0xF0 && byte(1) < 0x90) return 1;
  if (byte(0) == 0xF4 && byte(1) > 0x8F) return 1;
  return size;
}

void CheckReplaced(size_t size) {
  if (size <= TextPattern::kMostReplacedBytes) return;
  throw Error(Code::kResource, "regex_replace makes a text of more than 256 MiB",
              "replace less, or shorten the text with substr first");
}

// RE2::GlobalReplace, match by match, so that it can end early: a match that is empty does not
// begin where the one before ended.
std::string ReplacedAll(const re2::RE2& re, std::string_view text, std::string_view rewrite) {
  constexpr int64_t kMatchesToLook = 1 << 14;
  std::array<re2::StringPiece, 10> groups;
  const int wanted = 1 + re2::RE2::MaxSubmatch(PieceOf(rewrite));
  std::string out;
  size_t at = 0;
  size_t last_end = std::string_view::npos;
  int64_t matches = 0;
  while (at <= text.size()) {
    if (!re.Match(PieceOf(text), at, text.size(), re2::RE2::UNANCHORED, groups.data(), wanted)) {
      break;
    }
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    out.append(text.substr(at, begin - at));
    if (groups[0].empty() && begin == last_end) {
      const size_t bytes = std::min(RuneBytes(text.substr(begin)), text.size() - begin);
      out.append(text.substr(begin, bytes));
      at = begin + std::max<size_t>(bytes, 1);
      continue;
    }
    (void)re.Rewrite(&out, PieceOf(rewrite), groups.data(), wanted);
    at = last_end = begin + groups[0].size();
    CheckReplaced(out.size());
    if (++matches % kMatchesToLook == 0) NeedNoInterrupt("regex_replace");
  }
  if (at < text.size()) out.append(text.substr(at));
  CheckReplaced(out.size());
  return out;
}

}  // namespace

TextPattern::TextPattern(std::string_view pattern)
    : compiled_(new Compiled{re2::RE2(PieceOf(pattern), QuietOptions())}) {
  if (compiled_->re.ok()) return;
  throw Error(Code::kUsage,
              fmt::format("'{}' is not a regular expression: {}", pattern, compiled_->re.error()),
              "the syntax is RE2's, as in TensorFlow: no lookahead, no references back");
}

bool TextPattern::Matches(std::string_view text) const {
  return re2::RE2::FullMatch(PieceOf(text), compiled_->re);
}

std::string TextPattern::Replaced(std::string_view text, std::string_view rewrite, bool all) const {
  if (all) return ReplacedAll(compiled_->re, text, rewrite);
  std::string replaced(text);
  (void)re2::RE2::Replace(&replaced, compiled_->re, PieceOf(rewrite));
  return replaced;
}

void TextPattern::CheckRewrite(std::string_view rewrite) const {
  std::string fault;
  if (compiled_->re.CheckRewriteString(PieceOf(rewrite), &fault)) return;
  throw Error(Code::kUsage, fmt::format("'{}' rewrites no match: {}", rewrite, fault),
              "\\1 to \\9 are what parentheses matched, \\0 is the match, \\\\ a backslash");
}

#else

struct TextPattern::Compiled {};

TextPattern::TextPattern(std::string_view pattern) {
  throw Error(Code::kUsage,
              fmt::format("'{}': regular expressions of texts need RE2, without which this program "
                          "was built",
                          pattern),
              "install libre2-dev and build again");
}

bool TextPattern::Matches(std::string_view /*text*/) const { return false; }

std::string TextPattern::Replaced(std::string_view text, std::string_view /*rewrite*/,
                                  bool /*all*/) const {
  return std::string(text);
}

void TextPattern::CheckRewrite(std::string_view /*rewrite*/) const {}

#endif

}  // namespace tpuest
