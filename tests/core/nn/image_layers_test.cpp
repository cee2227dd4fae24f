// Layers over images on small inputs; the numbers are TensorFlow 2.15's.

#include "core/nn/layers/image_layers.h"

#include <doctest/doctest.h>

#include <set>

#include "core/nn/layers/conv_layers.h"
#include "core/nn/layers/noise_layers.h"
#include "core/nn/layers/padding_layers.h"
#include "core/ops/elementwise.h"
#include "tests/core/nn/near.h"
#include "tests/core/nn/session.h"

namespace tpuest::nn {
namespace {

struct Image {
  Shape shape;
  std::vector<float> values;
};

// 10 200  35
// 90   0 255
const Image kSmall{{1, 2, 3, 1}, {10, 200, 35, 90, 0, 255}};

// 0 .. 19, each times `factor`.
Image FourByFive(float factor = 1) {
  Image image{{1, 4, 5, 1}, {}};
  for (int i = 0; i < 20; ++i) image.values.push_back(factor * static_cast<float>(i));
  return image;
}

template <class L>
std::vector<float> Of(const L& layer, const Image& image, bool training = false,
                      DType compute_dtype = DType::kFloat) {
  Session session;
  LayerContext context{
      .graph = session.graph(), .training = training, .compute_dtype = compute_dtype};
  const Value x = ops::Cast(session.Const(image.shape, image.values), compute_dtype);
  return session.Floats(ops::Cast(layer.Apply(context, x), DType::kFloat));
}

TEST_CASE("layers resize images") {
  CHECK(Near(
      Of(UpSampling2D{.size = std::vector<int64_t>{2, 1}, .interpolation = "bilinear"}, kSmall),
      {10, 200, 35, 30, 150, 90, 70, 50, 200, 90, 0, 255}));
  CHECK(Near(Of(UpSampling2D{.size = std::vector<int64_t>{1, 2}}, kSmall),
             {10, 10, 200, 200, 35, 35, 90, 90, 0, 0, 255, 255}));
  CHECK(Near(Of(UpSampling2D{.interpolation = "bicubic"}, kSmall),
             {-16.00346, 48.11293, 183.9987, 187.6673, 58.63676,  -2.240482, 14.92437, 53.33055,
              134.7088,  150.373,  98.26486, 73.68908, 76.25211,  63.67675,  36.97056, 76.42094,
              176.8446,  224.2521, 107.1799, 68.89438, -12.31926, 39.12664,  216.4728, 300.1817}));
  CHECK(Near(Of(Resizing{.height = 3, .width = 2, .interpolation = "nearest"}, kSmall),
             {10, 35, 90, 255, 90, 255}));
  CHECK(Near(Of(Resizing{.height = 3, .width = 4}, kSmall),
             {10, 128.75, 138.125, 35, 50, 81.25, 116.875, 145, 90, 33.75, 95.625, 255}));
  CHECK(Near(Of(Resizing{.height = 1, .width = 2, .interpolation = "area"}, kSmall),
             {66.66667, 130}));
  CHECK(Near(Of(Resizing{.height = 3, .width = 3, .crop_to_aspect_ratio = true}, kSmall),
             {10, 105, 200, 50, 75, 100, 90, 45, 0}));
}

TEST_CASE("layers crop images") {
  CHECK(Near(Of(CenterCrop{.height = 2, .width = 3}, FourByFive()), {6, 7, 8, 11, 12, 13}));
  CHECK(Near(Of(CenterCrop{.height = 6, .width = 3}, FourByFive()),
             {1, 1.5, 2, 3.5, 4, 4.5, 6.833334, 7.333334, 7.833334, 10.16667, 10.66667, 11.16667,
              13.5, 14, 14.5, 16, 16.5, 17}));
  CHECK(Near(Of(RandomCrop{.height = 3, .width = 2}, FourByFive()),
             {1.833333, 2.833333, 8.5, 9.5, 15.16667, 16.16667}));
}

TEST_CASE("of bounds that are equal, what is drawn is TensorFlow's") {
  const auto fixed = [](double value) { return std::vector<double>{value, value}; };
  const Image image = FourByFive();
  CHECK(Near(Of(RandomRotation{.factor = fixed(0.25)}, image, true),
             {3.5, 6, 11, 16, 18.5, 2.5, 5, 10, 15, 17.5, 1.5, 4, 9, 14, 16.5, 0.5, 3, 8, 13, 15.5},
             1e-5));
  CHECK(Near(Of(RandomRotation{.factor = fixed(0.1), .fill_mode = "constant", .fill_value = 7},
                image, true),
             {6.363815, 3.557321, 4.31405,  8.061994, 9.156354, 1.18229,  4.023407,
              7.77135,  11.51929, 15.26724, 3.732764, 7.480706, 11.22865, 14.97659,
              17.41732, 7.345086, 10.93801, 14.68595, 13.93613, 8.190704},
             1e-5));
  CHECK(Near(
      Of(RandomTranslation{.height_factor = fixed(0.25), .width_factor = fixed(-0.4)}, image, true),
      {2, 3, 4, 4, 3, 2, 3, 4, 4, 3, 7, 8, 9, 9, 8, 12, 13, 14, 14, 13}, 1e-5));
  CHECK(Near(Of(RandomTranslation{.height_factor = fixed(0.3),
                                  .width_factor = fixed(0.3),
                                  .fill_mode = "wrap",
                                  .interpolation = "nearest"},
                image, true),
             {19, 19, 16, 17, 18, 19, 19, 16, 17, 18, 9, 9, 6, 7, 8, 14, 14, 11, 12, 13}, 1e-5));
  CHECK(Near(Of(RandomZoom{.height_factor = fixed(0.5)}, image, true),
             {0,     0.5,   2,     3.5,   4,     3.75, 4.25, 5.75, 7.25, 7.75,
              11.25, 11.75, 13.25, 14.75, 15.25, 15,   15.5, 17,   18.5, 19},
             1e-5));
  CHECK(Near(Of(RandomZoom{.height_factor = fixed(-0.5),
                           .width_factor = fixed(0.2),
                           .fill_mode = "nearest"},
                image, true),
             {3.75, 4.55, 5.75,  6.95,  7.75,  6.25,  7.05,  8.25,  9.45,  10.25,
              8.75, 9.55, 10.75, 11.95, 12.75, 11.25, 12.05, 13.25, 14.45, 15.25},
             1e-5));
  const std::vector<float> brighter =
      Of(RandomBrightness{.factor = fixed(0.1)}, FourByFive(13), true);
  CHECK(Near({brighter.begin(), brighter.begin() + 3}, {25.5, 38.5, 51.5}));
  CHECK(Near({brighter.end() - 3, brighter.end()}, {246.5, 255, 255}));
  const std::vector<float> darker =
      Of(RandomBrightness{.factor = fixed(-0.5), .value_range = {0, 20}}, image, true);
  CHECK(Near({darker.end() - 3, darker.end()}, {7, 8, 9}));
  CHECK(darker.front() == 0);
}

// 64 images of FourByFive.
Image Many() {
  Image images{{64, 4, 5, 1}, {}};
  for (int n = 0; n < 64; ++n) {
    const Image one = FourByFive();
    images.values.insert(images.values.end(), one.values.begin(), one.values.end());
  }
  return images;
}

std::set<std::vector<float>> Different(const std::vector<float>& values, size_t size) {
  std::set<std::vector<float>> all;
  for (size_t at = 0; at < values.size(); at += size) {
    all.emplace(values.begin() + static_cast<ptrdiff_t>(at),
                values.begin() + static_cast<ptrdiff_t>(at + size));
  }
  return all;
}

TEST_CASE("random layers change each image independently, and only in training") {
  const Image images = Many();
  // Counts the images that a layer changes.
  const auto changed = [&](const auto& layer) {
    CHECK(Of(layer, images, false) == images.values);
    return Different(Of(layer, images, true), 20).size();
  };
  CHECK(changed(RandomFlip{}) == 4);
  CHECK(changed(RandomFlip{.mode = "vertical"}) == 2);
  CHECK(changed(RandomRotation{.factor = 0.2}) > 50);
  CHECK(changed(RandomTranslation{.height_factor = 0.3, .width_factor = 0.3}) > 50);
  CHECK(changed(RandomZoom{.height_factor = 0.3}) > 50);
  CHECK(changed(RandomContrast{.factor = 0.5}) > 50);
  CHECK(changed(RandomBrightness{.factor = 0.1}) > 50);
}

TEST_CASE("a layer with a seed draws independently for each of its axes") {
  CHECK(Different(Of(RandomFlip{.seed = 7}, Many(), true), 20).size() == 4);
  const RandomCrop crop{.height = 2, .width = 3, .seed = 7};
  CHECK(Different(Of(crop, Many(), true), 6).size() == 9);
}

TEST_CASE("random numbers of layers do not depend on the precision") {
  // Quarters of integers below 64 are exact in bfloat16.
  const Image images = Many();
  CHECK(Of(RandomFlip{}, images, true, DType::kBfloat16) == Of(RandomFlip{}, images, true));
  const RandomCrop crop{.height = 2, .width = 3};
  CHECK(Of(crop, images, true, DType::kBfloat16) == Of(crop, images, true));
}

TEST_CASE("a random crop is any part of the image, unchanged") {
  const std::set<std::vector<float>> parts =
      Different(Of(RandomCrop{.height = 3, .width = 3}, Many(), true), 9);
  CHECK(parts.size() == 6);  // two first rows, three columns
  for (const std::vector<float>& part : parts) {
    const float first = part[0];
    CHECK(part == std::vector<float>{first, first + 1, first + 2, first + 5, first + 6, first + 7,
                                     first + 10, first + 11, first + 12});
  }
}

TEST_CASE("contrast keeps the mean and stays within 0 to 255") {
  const std::vector<float> changed = Of(RandomContrast{.factor = 0.9}, FourByFive(13), true);
  double sum = 0;
  for (const float value : changed) {
    sum += value;
    CHECK((value >= 0 && value <= 255));
  }
  CHECK(sum / 20 == doctest::Approx(123.5).epsilon(0.2));
  CHECK(changed != FourByFive(13).values);
}

TEST_CASE("arguments that do not fit an image are refused with the layer's name") {
  const auto message = [](const auto& layer) {
    try {
      (void)Of(layer, FourByFive(), true);
    } catch (const Error& error) {
      return std::string(error.message());
    }
    return std::string();
  };
  CHECK(message(Resizing{.height = 0, .width = 3}) ==
        "resizing 'resizing': height and width are 0 and 3, expected positive numbers");
  CHECK(message(RandomZoom{.height_factor = 1.5}) ==
        "random_zoom 'random_zoom': height_factor is from -1.5 to 1.5, expected within -1 to 1");
  CHECK(message(RandomRotation{.factor = std::vector<double>{0.2, 0.1}}) ==
        "random_rotation 'random_rotation': factor is from 0.2 to 0.1, expected the lower bound "
        "first");
  CHECK(message(RandomRotation{.factor = std::vector<double>{0.2}}) ==
        "random_rotation 'random_rotation': factor must be a number or [from, to]");
  CHECK(message(RandomContrast{.factor = std::vector<double>{1.2, 1}}) ==
        "random_contrast 'random_contrast': factor must be a number from 0 to 1, or [less, more] "
        "with less from 0 to 1");
  CHECK(message(RandomBrightness{.factor = 0.5, .value_range = {1, 0}}) ==
        "random_brightness 'random_brightness': value_range must be [least, most]");
  CHECK(message(Conv2DTranspose{
            .filters = 1, .kernel_size = 3, .strides = 2, .output_padding = int64_t{2}}) ==
        "conv2d_transpose 'conv2d_transpose': output_padding is 2, expected from 0 to strides - 1, "
        "1");
  CHECK(
      message(Conv2DTranspose{.filters = 1, .kernel_size = 3, .strides = 2, .dilation_rate = 2}) ==
      "conv2d_transpose 'conv2d_transpose': `strides > 1` not supported in conjunction with "
      "`dilation_rate > 1`");
  CHECK(message(StochasticDepth{.drop_path_rate = 1}) ==
        "stochastic_depth 'stochastic_depth': drop_path_rate is 1, expected at least 0 and below "
        "1");
}

}  // namespace
}  // namespace tpuest::nn
