#include "core/base/utf8.h"

#include <doctest/doctest.h>

namespace tpuest {
namespace {

std::string BytesOf(char32_t point) {
  std::string text;
  AppendUtf8(point, text);
  return text;
}

TEST_CASE("a code point takes one to four bytes, at both ends of each length") {
  CHECK(BytesOf(0) == std::string(1, '\0'));
  CHECK(BytesOf(0x7F) == "\x7F");
  CHECK(BytesOf(0x80) == "\xC2\x80");
  CHECK(BytesOf(0x7FF) == "\xDF\xBF");
  CHECK(BytesOf(0x800) == "\xE0\xA0\x80");
  CHECK(BytesOf(0xFFFF) == "\xEF\xBF\xBF");
  CHECK(BytesOf(0x10000) == "\xF0\x90\x80\x80");
  CHECK(BytesOf(0x10FFFF) == "\xF4\x8F\xBF\xBF");
}

TEST_CASE("an appended code point follows the text, and is valid UTF-8") {
  std::string text = "a";
  AppendUtf8(0x1F600, text);
  CHECK(text == "a\xF0\x9F\x98\x80");
  CHECK(FindInvalidUtf8(text) == std::string_view::npos);
  CHECK(CountCharacters(text) == 2);
}

}  // namespace
}  // namespace tpuest
