#include "core/base/text/text_pattern.h"

#include <doctest/doctest.h>

#include <string>

#include "core/base/error.h"

namespace tpuest {
namespace {

TEST_CASE("A text is matched whole and rewritten as RE2 does it") {
  const TextPattern pattern("(a+)(b)");
  CHECK(pattern.Matches("aab"));
  CHECK_FALSE(pattern.Matches("aabb"));
  CHECK(pattern.Replaced("aabbab", R"(\2\1)", true) == "baabba");
  CHECK(pattern.Replaced("aabbab", R"(\2\1)", false) == "baabab");
  CHECK(TextPattern(".").Replaced("日本", "x", true) == "xx");
  CHECK(TextPattern("(?s).*").Matches(std::string("a\0\n", 3)));
}

// The results of RE2::GlobalReplace, which is not called because it cannot be interrupted.
TEST_CASE("All matches are rewritten as by RE2's GlobalReplace, including empty ones") {
  const auto all = [](std::string_view pattern, std::string_view text) {
    return TextPattern(pattern).Replaced(text, "-", true);
  };
  CHECK(all("", "") == "-");
  CHECK(all("", "ab") == "-a-b-");
  CHECK(all("b*", "abbcb") == "-a-c-");
  CHECK(all("a*", "baaac") == "-b-c-");
  CHECK(all("x*", "日本") == "-日-本-");
  CHECK(all("", "a\xff\xe6z") == "-a-\xff-\xe6-z-");
  CHECK(all("$", "ab") == "ab-");
  CHECK(all("q", "ab") == "ab");
  CHECK(all("ab|b", "abbab") == "---");
  CHECK(TextPattern("(a)(b)?").Replaced("ab a", R"(<\2\1\\>)", true) == "<ba\\> <a\\>");
}

TEST_CASE("A replacement ends at 256 MiB") {
  const std::string text(std::size_t{1} << 10, 'a');
  const std::string rewrite((TextPattern::kMostReplacedBytes >> 10) + 1, 'b');
  CHECK_THROWS_WITH_AS((void)TextPattern("a").Replaced(text, rewrite, true),
                       "regex_replace makes a text of more than 256 MiB", Error);
}

TEST_CASE("An invalid pattern or rewrite is refused") {
  CHECK_THROWS_WITH_AS(TextPattern("(a"), "'(a' is not a regular expression: missing ): (a", Error);
  CHECK_THROWS_AS(TextPattern(R"((a)\1)"), Error);
  CHECK_THROWS_AS(TextPattern("(?=a)"), Error);
  CHECK_NOTHROW(TextPattern("(a)").CheckRewrite(R"(\1)"));
  CHECK_THROWS_AS(TextPattern("a").CheckRewrite(R"(\1)"), Error);
  CHECK_THROWS_AS(TextPattern("a").CheckRewrite("z\\"), Error);
}

TEST_CASE("A match takes time in proportion to the text") {
  CHECK_FALSE(TextPattern("(a+)+[bc]").Matches(std::string(100000, 'a')));
}

}  // namespace
}  // namespace tpuest
