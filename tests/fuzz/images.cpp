// Images, detected by their first bytes: the header, and the pixels, with the channels in the first
// byte's low four bits, or a window of them.

#include "core/io/images/image.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {

void RunImages(std::string_view input) {
  const uint8_t choice = TakeChoice(input);
  const ImageHeader header = ReadImageHeader(input);
  // Decoding larger images may exceed a target's time limit.
  if (header.height * header.width > 250'000) return;
  const int channels = choice % 16 % 5;
  DecodedImage image;
  if (choice < 128) {
    DecodeImage(input, channels, image);
    Check(image.height == header.height && image.width == header.width);
    Check(image.channels == (channels == 0 ? header.channels : channels));
    return;
  }
  const CropWindow window{header.height / 3, header.width / 3, (header.height + 1) / 2,
                          (header.width + 1) / 2};
  DecodeAndCrop(input, channels, window, image);
  Check(image.height == window.height && image.width == window.width);
}

}  // namespace tpuest::fuzz
