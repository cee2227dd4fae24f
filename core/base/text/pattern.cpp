#include "core/base/text/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <cstdint>
#include <new>

#include "core/base/error.h"

namespace tpuest {
namespace {

constexpr uint32_t kMostSteps = 1'000'000;  // some tens of milliseconds
constexpr uint32_t kMostHeap = 64 << 10;    // KiB

PCRE2_SPTR Bytes(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

template <class T>
Owned<T> Own(T* object, void (*free)(T*)) {
  if (object == nullptr) throw std::bad_alloc();
  return {object, free};
}

}  // namespace

struct Pattern::Compiled {
  std::string text;
  Owned<pcre2_code> code;
  Owned<pcre2_match_context> limits;
};

Pattern::Pattern(std::string_view text) {
  int error = 0;
  size_t offset = 0;
  pcre2_code* const code = pcre2_compile(Bytes(text), text.size(), 0, &error, &offset, nullptr);
  if (code == nullptr) {
    std::array<char, 256> words{};
    pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(words.data()), words.size());
    throw Error(Code::kUsage,
                fmt::format("'{}' is not a regular expression: {} at character {}", text,
                            words.data(), offset),
                "variables are picked by patterns such as 'dense.*' or '.*/bias'");
  }
  Owned<pcre2_code> owned = Own(code, pcre2_code_free);
  Owned<pcre2_match_context> limits =
      Own(pcre2_match_context_create(nullptr), pcre2_match_context_free);
  pcre2_set_match_limit(limits.get(), kMostSteps);
  pcre2_set_heap_limit(limits.get(), kMostHeap);
  compiled_ = std::make_shared<const Compiled>(
      Compiled{std::string(text), std::move(owned), std::move(limits)});
}

bool Pattern::FoundIn(std::string_view text) const { return Found(text, 0); }

bool Pattern::FoundAtStart(std::string_view text) const { return Found(text, PCRE2_ANCHORED); }

bool Pattern::Found(std::string_view text, unsigned options) const {
  const Owned<pcre2_match_data> match = Own(
      pcre2_match_data_create_from_pattern(compiled_->code.get(), nullptr), pcre2_match_data_free);
  const int found = pcre2_match(compiled_->code.get(), Bytes(text), text.size(), 0, options,
                                match.get(), compiled_->limits.get());
  if (found >= 0) return true;
  if (found == PCRE2_ERROR_NOMATCH) return false;
  if (found == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
  throw Error(Code::kUsage,
              fmt::format("the pattern '{}' takes too long on '{}'", compiled_->text, text),
              "a repeat inside a repeat, such as '(a+)+', tries every way to share the text");
}

}  // namespace tpuest
