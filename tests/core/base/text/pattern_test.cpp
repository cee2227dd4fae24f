#include "core/base/text/pattern.h"

#include <doctest/doctest.h>

#include <string>

#include "core/base/error.h"

namespace tpuest {
namespace {

TEST_CASE("A pattern is found as Python's re.search and re.match find it") {
  const Pattern bias(".*/bias");
  CHECK(bias.FoundIn("dense/bias"));
  CHECK(bias.FoundIn("dense/bias:0"));
  CHECK_FALSE(bias.FoundIn("dense/kernel"));
  CHECK(Pattern("").FoundIn(""));
  CHECK(Pattern("kernel").FoundIn("dense/kernel"));
  CHECK_FALSE(Pattern("kernel").FoundAtStart("dense/kernel"));
  CHECK(Pattern("kernel|dense").FoundAtStart("dense/kernel"));
  const Pattern but_logits("^(?!.*logits)");
  CHECK(but_logits.FoundAtStart("dense/kernel"));
  CHECK_FALSE(but_logits.FoundAtStart("dnn/logits/kernel"));
  CHECK(Pattern("(?P<layer>dense)_[12]$").FoundIn("dense_1"));
  CHECK_FALSE(Pattern("dense_[12]$").FoundIn("dense_1/kernel"));
}

TEST_CASE("An invalid pattern is refused with its place") {
  CHECK_THROWS_WITH_AS(
      Pattern("emb("),
      "'emb(' is not a regular expression: missing closing parenthesis at character 4", Error);
  CHECK_THROWS_AS(Pattern("*"), Error);
  CHECK_THROWS_AS(Pattern("[a"), Error);
}

TEST_CASE("A pattern that would take for ever is refused in bounded time") {
  CHECK_THROWS_WITH_AS(
      (void)Pattern("(a+)+[bc]").FoundIn(std::string(32, 'a')),
      "the pattern '(a+)+[bc]' takes too long on 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", Error);
  CHECK(Pattern("(a|b)*").FoundAtStart(std::string(1000, 'a')));
}

}  // namespace
}  // namespace tpuest
