#pragma once
// What the decoders have in common; for this folder only.

#include <csetjmp>
#include <string>
#include <string_view>

#include "core/io/images/image.h"

namespace tpuest {

// Error kData: "damaged PNG: what".
[[nodiscard]] Error DamagedImage(ImageFormat format, std::string_view what);
// Error kUsage for a decoder that is not in this program.
[[nodiscard]] Error WithoutDecoder(ImageFormat format, std::string_view package);
// Throws Error kData where an image has no pixels or more than kMostImageBytes of them.
void CheckImageSize(ImageFormat format, int64_t height, int64_t width, int64_t channels);
// Error kData for channels that an image of the format cannot be read with.
[[nodiscard]] Error WrongChannels(ImageFormat format, int channels, std::string_view possible);

[[nodiscard]] ImageHeader JpegHeader(std::string_view bytes);
[[nodiscard]] ImageHeader PngHeader(std::string_view bytes);
[[nodiscard]] ImageHeader BmpHeader(std::string_view bytes);
[[nodiscard]] ImageHeader GifHeader(std::string_view bytes);

// Calls of a C library that reports errors by leaving: Leave() never returns and may be called from
// within it; Run then throws. What `call` holds must have no destructor to run: it is jumped over.
class LongJumps {
 public:
  explicit LongJumps(ImageFormat format) : format_(format) {}

  template <class Call>
  void Run(const Call& call) {
    if (setjmp(jump_) != 0) Throw();
    call();
  }
  [[noreturn]] void Leave(std::string_view what) {
    // No string: nothing that owns memory may live where the jump begins.
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
