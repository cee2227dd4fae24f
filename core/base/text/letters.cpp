#include "core/base/text/letters.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

#include "core/base/text/letters_table.h"
#include "core/base/utf8.h"

namespace tpuest {
namespace {

using letters_table::Run;
using letters_table::Several;

constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kSigma = 0x3A3;
constexpr char32_t kSmallSigma = 0x3C3;
constexpr char32_t kFinalSigma = 0x3C2;

// What the byte behind the first of a character may be: more than "10......" where that would be a
// longer form of another, a surrogate or above U+10FFFF.
struct Second {
  unsigned char least = 0x80;
  unsigned char most = 0xBF;
};
Second SecondOf(unsigned char first) {
  if (first == 0xE0) return {.least = 0xA0};
  if (first == 0xED) return {.most = 0x9F};
  if (first == 0xF0) return {.least = 0x90};
  if (first == 0xF4) return {.most = 0x8F};
  return {};
}

// The bytes of a character that begins with `first`; 0: none does.
int BytesOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

// The first character, and moves behind it.
char32_t Take(std::string_view& text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const int bytes = BytesOf(first);
  text.remove_prefix(1);
  if (bytes <= 1) return bytes == 1 ? first : kReplacement;
  char32_t c = first & (0x7FU >> static_cast<unsigned>(bytes));
  Second allowed = SecondOf(first);
  for (int i = 1; i < bytes; ++i, allowed = {}) {
    const unsigned char next = text.empty() ? 0 : static_cast<unsigned char>(text[0]);
    if (next < allowed.least || next > allowed.most) return kReplacement;
    c = (c << 6U) | (next & 0x3FU);
    text.remove_prefix(1);
  }
  return c;
}

std::u32string Decoded(std::string_view text) {
  text = text.substr(0, text.find('\0'));
  std::u32string characters;
  characters.reserve(text.size());
  while (!text.empty()) characters += Take(text);
  return characters;
}

// A set is where it begins and ends, in turns.
bool IsIn(char32_t c, std::span<const char32_t> edges) {
  return (std::upper_bound(edges.begin(), edges.end(), c) - edges.begin()) % 2 == 1;
}

void AppendMapped(char32_t c, std::span<const Run> runs, std::span<const Several> several,
                  std::string& text) {
  const auto* const many =
      std::lower_bound(several.data(), several.data() + several.size(), c,
                       [](const Several& s, char32_t x) { return s.from < x; });
  if (many != several.data() + several.size() && many->from == c) {
    for (const char32_t to : many->to) {
      if (to != 0) AppendUtf8(to, text);
    }
    return;
  }
  const auto* const run = std::lower_bound(runs.data(), runs.data() + runs.size(), c,
                                           [](const Run& r, char32_t x) { return r.last < x; });
  const bool is_in = run != runs.data() + runs.size() && run->first <= c &&
                     (c - run->first) % static_cast<char32_t>(run->step) == 0;
  AppendUtf8(is_in ? static_cast<char32_t>(static_cast<int32_t>(c) + run->difference) : c, text);
}

// True if the first of [begin, end) that is not ignored is a cased letter.
template <class Iterator>
bool MeetsLetter(Iterator begin, Iterator end) {
  const auto found =
      std::find_if(begin, end, [](char32_t c) { return !IsIn(c, letters_table::kIgnored); });
  return found != end && IsIn(*found, letters_table::kCased);
}

bool IsFinal(const std::u32string& text, size_t at) {
  const auto here = text.begin() + static_cast<std::ptrdiff_t>(at);
  return MeetsLetter(std::make_reverse_iterator(here), text.rend()) &&
         !MeetsLetter(here + 1, text.end());
}

}  // namespace

std::string LowerUtf8(std::string_view text) {
  const std::u32string characters = Decoded(text);
  std::string lowered;
  lowered.reserve(text.size());
  for (size_t i = 0; i < characters.size(); ++i) {
    if (characters[i] == kSigma) {
      AppendUtf8(IsFinal(characters, i) ? kFinalSigma : kSmallSigma, lowered);
    } else {
      AppendMapped(characters[i], letters_table::kLower, letters_table::kLowerSeveral, lowered);
    }
  }
  return lowered;
}

std::string UpperUtf8(std::string_view text) {
  std::string raised;
  raised.reserve(text.size());
  for (const char32_t c : Decoded(text)) {
    AppendMapped(c, letters_table::kUpper, letters_table::kUpperSeveral, raised);
  }
  return raised;
}

}  // namespace tpuest
