#include "core/base/text/letters.h"

#include <doctest/doctest.h>

namespace tpuest {

TEST_CASE("letters of every script change") {
  CHECK(LowerUtf8("ÄÖÜ ÉÑ ЖЩ ԱԲ ΆΏ 𐐀 Ⅷ Ⓐ Ꭰ") == "äöü éñ жщ աբ άώ 𐐨 ⅷ ⓐ ꭰ");
  CHECK(UpperUtf8("äöü éñ жщ աբ άώ 𐐨 ⅷ ⓐ ꭰ ა") ==
        "ÄÖÜ ÉÑ ЖЩ ԱԲ ΆΏ 𐐀 Ⅷ Ⓐ Ꭰ Ა");
  CHECK(LowerUtf8("aB1 日本 🙂") == "ab1 日本 🙂");
  CHECK(UpperUtf8("") == "");
}

TEST_CASE("a letter may become several") {
  CHECK(UpperUtf8("straße ﬁ ŉ ᾳ") == "STRASSE FI ʼN ΑΙ");
  CHECK(LowerUtf8("İ") == "i\u0307");
}

TEST_CASE("a sigma at the end of a word is the final one") {
  CHECK(LowerUtf8("ΑΣΑ ΑΣ Σ ΣΑ") == "ασα ας σ σα");
  CHECK(LowerUtf8("ΌΣΟΣ,Σ.") == "όσος,σ.");
  // Characters that are ignored between letters: an accent, a point, a soft hyphen.
  CHECK(LowerUtf8("ΑΣ.Α Α\u0301Σ\u00AD") == "ασ.α α\u0301ς\u00AD");
}

TEST_CASE("bytes that are no UTF-8 become U+FFFD, and a NUL ends a text") {
  CHECK(LowerUtf8("\xFF\xFE"
                  "A") == "\uFFFD\uFFFDa");
  CHECK(LowerUtf8("A\xE4\xB8"
                  "B") == "a\uFFFDb");
  CHECK(UpperUtf8("\xED\xA0\x80x") == "\uFFFD\uFFFD\uFFFDX");
  CHECK(UpperUtf8("\xF4\x90\x80\x80y") == "\uFFFD\uFFFD\uFFFD\uFFFDY");
  CHECK(LowerUtf8("\xC0\xAFZ") == "\uFFFD\uFFFDz");
  CHECK(LowerUtf8("\xF0\x9F\x99") == "\uFFFD");
  CHECK(UpperUtf8(std::string_view("a\0b", 3)) == "A");
}

}  // namespace tpuest
