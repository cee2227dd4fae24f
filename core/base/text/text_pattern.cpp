#include "core/base/text/text_pattern.h"

#include "core/base/error.h"

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
  std::string replaced(text);
  if (all) {
    (void)re2::RE2::GlobalReplace(&replaced, compiled_->re, PieceOf(rewrite));
  } else {
    (void)re2::RE2::Replace(&replaced, compiled_->re, PieceOf(rewrite));
  }
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
