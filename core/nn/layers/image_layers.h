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
  v("height", layer.height, {.help = "of the result", .required = true});
  v("width", layer.width, {.help = "of the result", .required = true});
}

// tf.image.resize: the whole image, or the largest part about its middle that has the result's
// aspect ratio.
struct Resizing {
  static constexpr std::string_view kType = "resizing";
  static constexpr std::string_view kSummary = "images brought to a size";
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
      {.help = "as tf.image.resize",
       .values = {"bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian",
                  "mitchellcubic"}});
    v("crop_to_aspect_ratio", crop_to_aspect_ratio,
      {.help = "cut what would be squeezed, the same on both sides"});
    VisitName(v, *this, "default: resizing, resizing_1, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// The middle of an image; of a smaller one all, resized as crop_to_aspect_ratio does.
struct CenterCrop {
  static constexpr std::string_view kType = "center_crop";
  static constexpr std::string_view kSummary = "the middle of each image";
  static constexpr std::string_view kAliases[] = {"CenterCrop"};
  int64_t height = 0;
  int64_t width = 0;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    VisitTarget(v, *this);
    VisitName(v, *this, "default: center_crop, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// A part of each image, anywhere in it; in evaluation, and of a smaller image, all of it, resized
// as crop_to_aspect_ratio does.
struct RandomCrop {
  static constexpr std::string_view kType = "random_crop";
  static constexpr std::string_view kSummary =
      "a part of each image, another one in each step; its middle outside of training";
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
    VisitName(v, *this, "of its draws; default: random_crop, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Turns half of the images about, left to right, upside down, or both by themselves.
struct RandomFlip {
  static constexpr std::string_view kType = "random_flip";
  static constexpr std::string_view kSummary = "images mirrored at random, in training";
  static constexpr std::string_view kAliases[] = {"RandomFlip"};
  std::string mode = "horizontal_and_vertical";
  Seed seed;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("mode", mode,
      {.help = "what is turned about",
       .values = {"horizontal_and_vertical", "horizontal", "vertical"}});
    VisitSeed(v, *this);
    VisitName(v, *this, "of its draws; default: random_flip, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// From -number to number, or [from, to].
using Factor = std::variant<double, std::vector<double>>;

// Visits what all layers have that move pixels.
template <class V, class Layer>
void VisitFilling(V& v, Layer& layer) {
  v("fill_mode", layer.fill_mode,
    {.help = "what stands beside the image", .values = {"reflect", "wrap", "constant", "nearest"}});
  v("interpolation", layer.interpolation,
    {.help = "between pixels", .values = {"bilinear", "nearest"}});
  v("fill_value", layer.fill_value, {.help = "beside the image, of fill_mode: constant"});
}

// Turns each image about its middle.
struct RandomRotation {
  static constexpr std::string_view kType = "random_rotation";
  static constexpr std::string_view kSummary = "images turned at random, in training";
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
      {.help = "parts of a whole turn, counterclockwise: f for [-f, f], or [from, to]",
       .required = true});
    VisitFilling(v, *this);
    VisitSeed(v, *this);
    VisitName(v, *this, "of its draws; default: random_rotation, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Moves each image down and to the right.
struct RandomTranslation {
  static constexpr std::string_view kType = "random_translation";
  static constexpr std::string_view kSummary = "images shifted at random, in training";
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
      {.help = "parts of the height: f for [-f, f], or [from, to]", .required = true});
    v("width_factor", width_factor,
      {.help = "parts of the width: f for [-f, f], or [from, to]", .required = true});
    VisitFilling(v, *this);
    VisitSeed(v, *this);
    VisitName(v, *this, "of its draws; default: random_translation, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Zooms each image about its middle; a factor above 0 shows more than the image.
struct RandomZoom {
  static constexpr std::string_view kType = "random_zoom";
  static constexpr std::string_view kSummary =
      "images enlarged or made smaller at random, in training";
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
      {.help = "parts that are added to the height: f for [-f, f], or [from, to]",
       .required = true});
    v("width_factor", width_factor,
      {.help = "the same of the width; null: the aspect ratio stays"});
    VisitFilling(v, *this);
    VisitSeed(v, *this);
    VisitName(v, *this, "of its draws; default: random_zoom, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// (x - mean) * f + mean of each channel of an image, within 0 to 255.
struct RandomContrast {
  static constexpr std::string_view kType = "random_contrast";
  static constexpr std::string_view kSummary = "the contrast changed at random, in training";
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
    VisitName(v, *this, "of its draws; default: random_contrast, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Adds one number to each image.
struct RandomBrightness {
  static constexpr std::string_view kType = "random_brightness";
  static constexpr std::string_view kSummary = "the brightness changed at random, in training";
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
      {.help = "parts of value_range: f for [-f, f], or [from, to]", .required = true});
    v("value_range", value_range, {.help = "[least, most] of an image's values, which are kept"});
    VisitSeed(v, *this);
    VisitName(v, *this, "of its draws; default: random_brightness, ...");
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// tf.image.resize, without antialiasing, of x to height x width in x's dtype; `interpolation` as of
// Resizing.
[[nodiscard]] Value Resized(Value x, int64_t height, int64_t width, std::string_view interpolation);

}  // namespace tpuest::nn
