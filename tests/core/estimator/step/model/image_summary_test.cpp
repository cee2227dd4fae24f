// Images of summaries have the pixels that tf.compat.v1.summary.image writes for the same tensors.

#include <doctest/doctest.h>

#include <limits>

#include "core/estimator/step/model/media_summaries.h"
#include "core/io/images/image.h"

namespace tpuest {
namespace {

using Pixels = std::vector<uint8_t>;

Pixels PixelsOf(const SummaryValue& value) {
  DecodedImage image;
  DecodePng(std::get<ImageData>(value.value).encoded, 0, image);
  return image.pixels;
}

}  // namespace

TEST_CASE("floating-point pixels are scaled per image, as in TensorFlow") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor images = Tensor::Of<float>({2, 2, 2, 1}, {0.5F, 1, 0.25F, 2, -1, 0, 3, nan});
  const std::vector<SummaryValue> shown = ImageSummaries("x", images, 3);
  REQUIRE(shown.size() == 2);
  CHECK(shown[0].tag == "x/image/0");
  CHECK(PixelsOf(shown[0]) == Pixels{63, 127, 31, 255});
  CHECK(shown[1].tag == "x/image/1");
  CHECK(PixelsOf(shown[1]) == Pixels{85, 128, 255, 255});
}

TEST_CASE("uint8 pixels are used as they are, and a single image has no number") {
  const Pixels bytes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector<SummaryValue> shown =
      ImageSummaries("x", Tensor::Of<uint8_t>({1, 2, 2, 3}, bytes), 1);
  REQUIRE(shown.size() == 1);
  CHECK(shown[0].tag == "x/image");
  CHECK(PixelsOf(shown[0]) == bytes);
  CHECK(std::get<ImageData>(shown[0].value).channels == 3);
}

}  // namespace tpuest
