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

TEST_CASE("What is no pattern, or rewrites no match, is refused") {
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
