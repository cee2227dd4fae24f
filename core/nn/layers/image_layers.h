#pragma once
// Keras' layers over images [batch, height, width, channels] in other sizes, and those that change
// each image at random in training. What they draw is a function of (run's seed, layer's name,
// global step, image of the global batch); elsewhere they give the image as it is.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/nn/layers/draw.h"
#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// Visits height and width of what a layer gives.
template <class V, class Layer>
void VisitTarget(V& v, Layer& layer) {
  v("height", layer.height, {.help = "height of the result", .required = true});
  v("width", layer.width, {.help = "width of the result", .required = true});
}

// tf.image.resize: the whole image, or the largest part about its middle that has the result's
// aspect ratio.
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

// The middle of an image; of a smaller one all, resized as crop_to_aspect_ratio does.
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

// A part of each image, anywhere in it; in evaluation, and of a smaller image, all of it, resized
// as crop_to_aspect_ratio does.
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

// Turns half of the images about, left to right, upside down, or both by themselves.
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

// Visits what all layers have that move pixels.
template <class V, class Layer>
void VisitFilling(V& v, Layer& layer) {
  v("fill_mode", layer.fill_mode,
    {.help = "how to fill the area outside the image",
     .values = {"reflect", "wrap", "constant", "nearest"}});
  v("interpolation", layer.interpolation,
    {.help = "interpolation between pixels", .values = {"bilinear", "nearest"}});
  v("fill_value", layer.fill_value, {.help = "of `fill_mode: constant`: value outside the image"});
}

// Turns each image about its middle.
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

// Moves each image down and to the right.
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

// Zooms each image about its middle; a factor above 0 shows more than the image.
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

// (x - mean) * f + mean of each channel of an image, within 0 to 255.
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

// Adds one number to each image.
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

// tf.image.resize, without antialiasing, of x to height x width in x's dtype; `interpolation` as of
// Resizing.
[[nodiscard]] Value Resized(Value x, int64_t height, int64_t width, std::string_view interpolation);

}  // namespace tpuest::nn
