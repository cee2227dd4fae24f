#pragma once
// Keras' layers that resize and crop images [batch, height, width, channels], and layers that
// change each image at random in training. Their random numbers are a function of the run's seed,
// the layer's name, the global step and the image of the global batch; outside training they return
// the image unchanged.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/nn/layers/draw.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// Visits the height and width of a layer's result.
template <class V, class Layer>
void VisitTarget(V& v, Layer& layer) {
  v("height", layer.height, {.help = "height of the result", .required = true});
  v("width", layer.width, {.help = "width of the result", .required = true});
}

// tf.image.resize of the whole image, or of its largest central part that has the result's aspect
// ratio.
struct Resizing {
  static constexpr std::string_view kType = "resizing";
  static constexpr std::string_view kSummary = "resizes images";
  static constexpr std::string_view kAliases[] = {"Resizing"};
  int64_t height = 0;
  int64_t width = 0;
  std::string interpolation = "bilinear";
  bool crop_to_aspect_ratio = false;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    VisitTarget(v, *this);
    v("interpolation", interpolation,
      {.help = "method of tf.image.resize",
       .values = {"bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian",
                  "mitchellcubic"}});
    v("crop_to_aspect_ratio", crop_to_aspect_ratio,
      {.help =
           "crop both sides equally to keep the aspect ratio, instead of distorting the image"});
    VisitName(v, *this, "name of the layer; default: resizing, resizing_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// The central part of an image; a smaller image is resized as with crop_to_aspect_ratio.
struct CenterCrop {
  static constexpr std::string_view kType = "center_crop";
  static constexpr std::string_view kSummary = "cuts out the middle of each image";
  static constexpr std::string_view kAliases[] = {"CenterCrop"};
  int64_t height = 0;
  int64_t width = 0;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    VisitTarget(v, *this);
    VisitName(v, *this, "name of the layer; default: center_crop, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A part of each image at a random position; outside training, and for a smaller image, the whole
// image is resized as with crop_to_aspect_ratio.
struct RandomCrop {
  static constexpr std::string_view kType = "random_crop";
  static constexpr std::string_view kSummary =
      "cuts out a random part of each image in training; the middle otherwise";
  static constexpr std::string_view kAliases[] = {"RandomCrop"};
  int64_t height = 0;
  int64_t width = 0;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    VisitTarget(v, *this);
    VisitSeed(v, *this);
    VisitName(v, *this,
              "name of the layer, which also seeds its random numbers; default: random_crop, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Flips half of the images: left to right, upside down, or both independently.
struct RandomFlip {
  static constexpr std::string_view kType = "random_flip";
  static constexpr std::string_view kSummary = "mirrors images at random in training";
  static constexpr std::string_view kAliases[] = {"RandomFlip"};
  std::string mode = "horizontal_and_vertical";
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("mode", mode,
      {.help = "directions in which to mirror",
       .values = {"horizontal_and_vertical", "horizontal", "vertical"}});
    VisitSeed(v, *this);
    VisitName(v, *this,
              "name of the layer, which also seeds its random numbers; default: random_flip, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// From -number to number, or [from, to].
using Factor = std::variant<double, std::vector<double>>;

// Visits the arguments that all layers have that move pixels.
template <class V, class Layer>
void VisitFilling(V& v, Layer& layer) {
  v("fill_mode", layer.fill_mode,
    {.help = "how to fill the area outside the image",
     .values = {"reflect", "wrap", "constant", "nearest"}});
  v("interpolation", layer.interpolation,
    {.help = "interpolation between pixels", .values = {"bilinear", "nearest"}});
  v("fill_value", layer.fill_value, {.help = "of `fill_mode: constant`: value outside the image"});
}

// Rotates each image about its centre by a random angle.
struct RandomRotation {
  static constexpr std::string_view kType = "random_rotation";
  static constexpr std::string_view kSummary = "rotates images at random in training";
  static constexpr std::string_view kAliases[] = {"RandomRotation"};
  Factor factor = 0.0;
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  double fill_value = 0.0;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("factor", factor,
      {.help = "fractions of a full turn, counterclockwise: f for [-f, f], or [from, to]",
       .required = true});
    VisitFilling(v, *this);
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: random_rotation, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Shifts each image by a random distance; positive factors move it down and to the right.
struct RandomTranslation {
  static constexpr std::string_view kType = "random_translation";
  static constexpr std::string_view kSummary = "shifts images at random in training";
  static constexpr std::string_view kAliases[] = {"RandomTranslation"};
  Factor height_factor = 0.0;
  Factor width_factor = 0.0;
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  double fill_value = 0.0;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("height_factor", height_factor,
      {.help = "fractions of the height: f for [-f, f], or [from, to]", .required = true});
    v("width_factor", width_factor,
      {.help = "fractions of the width: f for [-f, f], or [from, to]", .required = true});
    VisitFilling(v, *this);
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: random_translation, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Zooms each image about its centre; a factor greater than 0 zooms out.
struct RandomZoom {
  static constexpr std::string_view kType = "random_zoom";
  static constexpr std::string_view kSummary = "zooms images in or out at random in training";
  static constexpr std::string_view kAliases[] = {"RandomZoom"};
  Factor height_factor = 0.0;
  std::optional<Factor> width_factor;
  std::string fill_mode = "reflect";
  std::string interpolation = "bilinear";
  double fill_value = 0.0;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("height_factor", height_factor,
      {.help = "change of the height as a fraction: f for [-f, f], or [from, to]",
       .required = true});
    v("width_factor", width_factor,
      {.help = "change of the width as a fraction: f for [-f, f], or [from, to]; `null` keeps the "
               "aspect ratio"});
    VisitFilling(v, *this);
    VisitSeed(v, *this);
    VisitName(v, *this,
              "name of the layer, which also seeds its random numbers; default: random_zoom, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// (x - mean) * f + mean per channel of an image, clipped to 0 .. 255.
struct RandomContrast {
  static constexpr std::string_view kType = "random_contrast";
  static constexpr std::string_view kSummary = "changes the contrast at random in training";
  static constexpr std::string_view kAliases[] = {"RandomContrast"};
  Factor factor = 0.0;
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("factor", factor,
      {.help = "f for a factor in [1 - f, 1 + f], or [less, more] for [1 - less, 1 + more]",
       .required = true});
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: random_contrast, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Adds one random number to each image.
struct RandomBrightness {
  static constexpr std::string_view kType = "random_brightness";
  static constexpr std::string_view kSummary = "changes the brightness at random in training";
  static constexpr std::string_view kAliases[] = {"RandomBrightness"};
  Factor factor = 0.0;
  std::vector<double> value_range = {0, 255};
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("factor", factor,
      {.help = "fractions of value_range: f for [-f, f], or [from, to]", .required = true});
    v("value_range", value_range,
      {.help = "[smallest, largest] value of an image; results are clipped to it"});
    VisitSeed(v, *this);
    VisitName(
        v, *this,
        "name of the layer, which also seeds its random numbers; default: random_brightness, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Returns tf.image.resize of x to height x width, without antialiasing and in x's dtype;
// `interpolation` as in Resizing.
[[nodiscard]] Value Resized(Value x, int64_t height, int64_t width, std::string_view interpolation);

}  // namespace tpuest::nn
