#pragma once
// Small and capital letters of texts in UTF-8, as Unicode 13 maps them in no language of its own: a
// letter may become several ("ß" "SS"), and a sigma at the end of a word is the final one.

#include <string>
#include <string_view>

namespace tpuest {

// A text ends before its first NUL, and bytes that are no UTF-8 become U+FFFD, one for each longest
// beginning of a character: both as ICU has it, and TensorFlow by it.
[[nodiscard]] std::string LowerUtf8(std::string_view text);
[[nodiscard]] std::string UpperUtf8(std::string_view text);

}  // namespace tpuest
