#pragma once
// The options of map ops on images, named after TensorFlow's functions (tf.io, tf.image). See
// core/base/visit.h.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "data/map_columns.h"

namespace tpuest::data {

struct ImageMap : MapColumns {};

// Ops that draw random numbers, which are functions of the run's seed, the op's name or its own
// seed, the epoch, the record and the draw: see data/images/record_key.h.
struct RandomImageMap : ImageMap {
  std::optional<uint64_t> seed;

  template <class V>
  void VisitSeed(V& v) {
    v("seed", seed,
      {.help =
           "seed of the random numbers; ops with the same seed draw the same numbers for a record "
           "(an image and its mask); `null` gives each op its own; both depend on tf_random_seed"});
  }
};

// ---- decoding: a column of one string per example -----------------------------------------------

// tf.io.decode_image(expand_animations=False): uint8 [height, width, channels].
struct DecodeImageMap : ImageMap {
  static constexpr std::string_view kType = "decode_image";
  static constexpr std::string_view kSummary = "decodes JPEG, PNG, GIF or BMP into pixels";
  static constexpr std::array<std::string_view, 4> kAliases = {"decode_jpeg", "decode_png",
                                                               "decode_bmp", "decode_gif"};
  int channels = 0;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("channels", channels,
      {.help = "number of channels: 1 gray, 3 colour, 4 with alpha; 0 as in the file"});
  }
};

// Decodes and crops the middle (decode_and_crop_jpeg) for evaluation, as tensorflow/tpu's ResNet
// does: image_size of image_size + crop_padding.
struct DecodeCenterCropMap : ImageMap {
  static constexpr std::string_view kType = "decode_and_center_crop_jpeg";
  static constexpr std::string_view kSummary =
      "cuts out the middle of a JPEG, without decoding the rest";
  int64_t image_size = 224;
  int64_t crop_padding = 32;
  int channels = 3;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("image_size", image_size,
      {.help = "size for which the crop is meant; the crop is not resized", .tpuest = true});
    v("crop_padding", crop_padding,
      {.help = "sets the crop to image_size / (image_size + crop_padding) of the shorter side",
       .tpuest = true});
    v("channels", channels, {.help = "number of channels: 1 gray, 3 colour"});
  }
};

// The ranges of tf.image.sample_distorted_bounding_box over the box of the whole image.
struct DistortedBox {
  double min_object_covered = 0.1;
  std::vector<double> aspect_ratio_range = {0.75, 1.33};
  std::vector<double> area_range = {0.05, 1};
  int max_attempts = 100;

  template <class V>
  void VisitBox(V& v) {
    v("min_object_covered", min_object_covered,
      {.help = "smallest fraction of the image that the crop must cover"});
    v("aspect_ratio_range", aspect_ratio_range, {.help = "width / height of the crop: [from, to]"});
    v("area_range", area_range, {.help = "fraction of the image's area: [from, to]"});
    v("max_attempts", max_attempts,
      {.help = "number of attempts to find a crop; if none fits, the whole image is used"});
  }
};

// sample_distorted_bounding_box, then decode_and_crop_jpeg, which does not decode the rest of the
// image. If the crop is the whole image, crops as decode_and_center_crop_jpeg does, as in
// tensorflow/tpu.
struct DecodeRandomCropMap : RandomImageMap, DistortedBox {
  static constexpr std::string_view kType = "decode_and_crop_jpeg_random";
  static constexpr std::string_view kSummary =
      "cuts out a part of a JPEG, a different one each time";
  int64_t image_size = 224;
  int64_t crop_padding = 32;
  int channels = 3;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    VisitBox(v);
    v("image_size", image_size,
      {.help = "image_size of the middle crop, used if no other fits", .tpuest = true});
    v("crop_padding", crop_padding, {.help = "crop_padding of the middle crop", .tpuest = true});
    v("channels", channels, {.help = "number of channels: 1 gray, 3 colour"});
    VisitSeed(v);
  }
};

// ---- sizes --------------------------------------------------------------------------------------

// The methods of tf.image.resize.
[[nodiscard]] inline std::vector<std::string_view> ResizeMethods() {
  return {"bilinear", "nearest",  "bicubic",  "area",
          "lanczos3", "lanczos5", "gaussian", "mitchellcubic"};
}
inline constexpr std::string_view kAntialiasHelp =
    "use every pixel when the image becomes smaller; `nearest` and `area` ignore this";

// tf.image.resize: float32, except for nearest, which keeps the type.
struct ResizeMap : ImageMap {
  static constexpr std::string_view kType = "resize";
  static constexpr std::string_view kSummary = "resizes an image";
  std::vector<int64_t> size;
  std::string method = "bilinear";
  bool antialias = false;
  bool half_pixel_centers = true;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("size", size, {.help = "[height, width] of the result", .required = true});
    v("method", method, {.help = "interpolation method", .values = ResizeMethods()});
    v("antialias", antialias, {.help = kAntialiasHelp});
    v("half_pixel_centers", half_pixel_centers,
      {.help = "`false` samples as tf.compat.v1.image.resize_bilinear, _nearest_neighbor and "
               "_bicubic do"});
  }
};

// tf.image.central_crop.
struct CentralCropMap : ImageMap {
  static constexpr std::string_view kType = "central_crop";
  static constexpr std::string_view kSummary = "cuts out the middle of an image";
  double central_fraction = 1;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("central_fraction", central_fraction,
      {.help = "fraction of each side to keep; above 0, at most 1", .required = true});
  }
};

// tf.image.random_crop.
struct RandomCropMap : RandomImageMap {
  static constexpr std::string_view kType = "random_crop";
  static constexpr std::string_view kSummary =
      "cuts out a part of an image, a different one each time";
  std::vector<int64_t> size;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("size", size,
      {.help = "[height, width]; a third number must equal the channels", .required = true});
    VisitSeed(v);
  }
};

// tf.image.sample_distorted_bounding_box and tf.slice, on pixels.
struct DistortedBoxMap : RandomImageMap, DistortedBox {
  static constexpr std::string_view kType = "sample_distorted_bounding_box";
  static constexpr std::string_view kSummary = "cuts out a part of random area and aspect ratio";

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    VisitBox(v);
    VisitSeed(v);
  }
};

// tf.image.resize_with_crop_or_pad.
struct CropOrPadMap : ImageMap {
  static constexpr std::string_view kType = "resize_with_crop_or_pad";
  static constexpr std::string_view kSummary = "cuts or pads an image around its middle";
  int64_t target_height = 0;
  int64_t target_width = 0;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("target_height", target_height,
      {.help = "height of the result; smaller images are padded with 0", .required = true});
    v("target_width", target_width,
      {.help = "width of the result; smaller images are padded with 0", .required = true});
  }
};

// tf.image.resize_with_pad.
struct ResizeWithPadMap : ImageMap {
  static constexpr std::string_view kType = "resize_with_pad";
  static constexpr std::string_view kSummary =
      "resizes an image, keeping its aspect ratio by zeros at the sides";
  int64_t target_height = 0;
  int64_t target_width = 0;
  std::string method = "bilinear";
  bool antialias = false;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("target_height", target_height, {.help = "height of the result", .required = true});
    v("target_width", target_width, {.help = "width of the result", .required = true});
    v("method", method, {.help = "interpolation method", .values = ResizeMethods()});
    v("antialias", antialias, {.help = kAntialiasHelp});
  }
};

// ---- flips and colours --------------------------------------------------------------------------

// tf.image.random_flip_left_right: mirrors every image with probability 1/2.
struct FlipLeftRightMap : RandomImageMap {
  static constexpr std::string_view kType = "random_flip_left_right";
  static constexpr std::string_view kSummary = "mirrors images left to right at random";

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    VisitSeed(v);
  }
};

// tf.image.random_flip_up_down.
struct FlipUpDownMap : RandomImageMap {
  static constexpr std::string_view kType = "random_flip_up_down";
  static constexpr std::string_view kSummary = "turns images upside down at random";

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    VisitSeed(v);
  }
};

// tf.image.per_image_standardization: float32 of mean 0 and deviation 1.
struct StandardizationMap : ImageMap {
  static constexpr std::string_view kType = "per_image_standardization";
  static constexpr std::string_view kSummary = "scales an image to mean 0 and variance 1";

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
  }
};

// tf.image.random_brightness: + u(-max_delta, max_delta). Integers stand for 0 to 1.
struct RandomBrightnessMap : RandomImageMap {
  static constexpr std::string_view kType = "random_brightness";
  static constexpr std::string_view kSummary = "adds a random number";
  double max_delta = 0;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("max_delta", max_delta, {.help = "largest number to add or subtract", .required = true});
    VisitSeed(v);
  }
};

// tf.image.random_contrast: (x - mean of the channel) * u(lower, upper) + mean.
struct RandomContrastMap : RandomImageMap {
  static constexpr std::string_view kType = "random_contrast";
  static constexpr std::string_view kSummary =
      "changes the contrast by a random factor around the channel's mean";
  double lower = 1;
  double upper = 1;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("lower", lower, {.help = "smallest factor", .required = true});
    v("upper", upper, {.help = "largest factor", .required = true});
    VisitSeed(v);
  }
};

// tf.image.random_saturation: multiplies the saturation in HSV by u(lower, upper).
struct RandomSaturationMap : RandomImageMap {
  static constexpr std::string_view kType = "random_saturation";
  static constexpr std::string_view kSummary = "multiplies the saturation by a random factor";
  double lower = 1;
  double upper = 1;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("lower", lower, {.help = "smallest factor", .required = true});
    v("upper", upper, {.help = "largest factor", .required = true});
    VisitSeed(v);
  }
};

// tf.image.random_hue: adds u(-max_delta, max_delta) to the hue in HSV; 1 is the full circle.
struct RandomHueMap : RandomImageMap {
  static constexpr std::string_view kType = "random_hue";
  static constexpr std::string_view kSummary = "rotates the hue by a random angle";
  double max_delta = 0;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("max_delta", max_delta, {.help = "largest rotation; 0 to 0.5", .required = true});
    VisitSeed(v);
  }
};

// tf.image.convert_image_dtype: scales integers to 0..1 and back; floats are only cast.
struct ConvertImageDtypeMap : ImageMap {
  static constexpr std::string_view kType = "convert_image_dtype";
  static constexpr std::string_view kSummary = "converts to another type and its range of values";
  std::string dtype;
  bool saturate = false;

  template <class V>
  void Visit(V& v) {
    VisitColumns(v);
    v("dtype", dtype,
      {.help = "type of the result", .required = true, .values = {"float32", "uint8"}});
    v("saturate", saturate,
      {.help = "`true` clips values that the type cannot hold; `false` wraps them"});
  }
};

}  // namespace tpuest::data
