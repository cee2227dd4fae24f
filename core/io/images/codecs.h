#pragma once
// Functions that all decoders share; for this folder only.

#include <csetjmp>
#include <string>
#include <string_view>

#include "core/io/images/image.h"

namespace tpuest {

// Error kData: "damaged PNG: what".
[[nodiscard]] Error DamagedImage(ImageFormat format, std::string_view what);
// Error kUsage for a decoder that this program was built without.
[[nodiscard]] Error WithoutDecoder(ImageFormat format, std::string_view package);
// Throws Error kData if an image has no pixels or more than kMostImageBytes of them.
void CheckImageSize(ImageFormat format, int64_t height, int64_t width, int64_t channels);
// Error kData for a number of channels to which images of the format cannot be converted.
[[nodiscard]] Error WrongChannels(ImageFormat format, int channels, std::string_view possible);

[[nodiscard]] ImageHeader JpegHeader(std::string_view bytes);
[[nodiscard]] ImageHeader PngHeader(std::string_view bytes);
[[nodiscard]] ImageHeader BmpHeader(std::string_view bytes);
[[nodiscard]] ImageHeader GifHeader(std::string_view bytes);

// Calls functions of a C library that reports errors by a long jump. The library's error handler
// calls Leave(), which never returns; Run then throws. The jump skips destructors, so objects
// inside `call` must not need any.
class LongJumps {
 public:
  explicit LongJumps(ImageFormat format) : format_(format) {}

  template <class Call>
  void Run(const Call& call) {
    if (setjmp(jump_) != 0) Throw();
    call();
  }
  [[noreturn]] void Leave(std::string_view what) {
    // Not a string: no object that owns memory may live where the jump begins.
    const size_t length = what.copy(what_, sizeof what_ - 1);
    what_[length] = '\0';
    std::longjmp(jump_, 1);
  }

 private:
  [[noreturn]] void Throw() const { throw DamagedImage(format_, what_); }

  ImageFormat format_;
  std::jmp_buf jump_ = {};
  char what_[256] = {};
};

}  // namespace tpuest
