#pragma once
// Converts UTF-8 texts to lower and upper case by Unicode 13's language-independent rules: a letter
// may become several ("ß" "SS"), and a sigma at the end of a word becomes the final sigma.

#include <string>
#include <string_view>

namespace tpuest {

// A text ends before its first NUL, and invalid UTF-8 becomes U+FFFD, once per longest prefix of a
// character. Both are ICU's behaviour, which TensorFlow uses.
[[nodiscard]] std::string LowerUtf8(std::string_view text);
[[nodiscard]] std::string UpperUtf8(std::string_view text);

}  // namespace tpuest
