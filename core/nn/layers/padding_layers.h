#pragma once
// Layers that add and remove rows and columns: Keras' ZeroPadding, Cropping and UpSampling in one
// to three dimensions. Inputs are [batch, ..., channels].

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

// Numbers of rows before and after: one for all sides, one per axis, or [before, after] per axis.
// For one axis, a list of two is its [before, after].
using Margins = std::variant<int64_t, std::vector<int64_t>, std::vector<std::vector<int64_t>>>;

[[nodiscard]] constexpr LayerType PaddingTypeOf(int axes) {
  constexpr LayerType kTypes[] = {
      {"zero_padding1d", {"ZeroPadding1D"}, "name of the layer; default: zero_padding1d, ..."},
      {"zero_padding2d", {"ZeroPadding2D"}, "name of the layer; default: zero_padding2d, ..."},
      {"zero_padding3d", {"ZeroPadding3D"}, "name of the layer; default: zero_padding3d, ..."}};
  return kTypes[axes - 1];
}
[[nodiscard]] constexpr LayerType CroppingTypeOf(int axes) {
  constexpr LayerType kTypes[] = {
      {"cropping1d", {"Cropping1D"}, "name of the layer; default: cropping1d, ..."},
      {"cropping2d", {"Cropping2D"}, "name of the layer; default: cropping2d, ..."},
      {"cropping3d", {"Cropping3D"}, "name of the layer; default: cropping3d, ..."}};
  return kTypes[axes - 1];
}
[[nodiscard]] constexpr LayerType UpSamplingTypeOf(int axes) {
  constexpr LayerType kTypes[] = {
      {"up_sampling1d", {"UpSampling1D"}, "name of the layer; default: up_sampling1d, ..."},
      {"up_sampling2d", {"UpSampling2D"}, "name of the layer; default: up_sampling2d, ..."},
      {"up_sampling3d", {"UpSampling3D"}, "name of the layer; default: up_sampling3d, ..."}};
  return kTypes[axes - 1];
}

inline constexpr std::string_view kMarginsHelp =
    "one number for all sides, one per axis, or [before, after] per axis";

// Puts zeros around x.
template <int axes>
struct ZeroPadding {
  static constexpr std::string_view kType = PaddingTypeOf(axes).type;
  static constexpr std::string_view kSummary = "adds zeros around the rows and columns";
  static constexpr std::string_view kAliases[] = {PaddingTypeOf(axes).aliases[0]};
  Margins padding = int64_t{1};
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("padding", padding, {.help = kMarginsHelp});
    VisitName(v, *this, PaddingTypeOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using ZeroPadding1D = ZeroPadding<1>;
using ZeroPadding2D = ZeroPadding<2>;
using ZeroPadding3D = ZeroPadding<3>;

// Removes rows and columns of x at its borders.
template <int axes>
struct Cropping {
  static constexpr std::string_view kType = CroppingTypeOf(axes).type;
  static constexpr std::string_view kSummary = "cuts rows and columns off the sides";
  static constexpr std::string_view kAliases[] = {CroppingTypeOf(axes).aliases[0]};
  Margins cropping = int64_t{axes == 2 ? 0 : 1};
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("cropping", cropping, {.help = kMarginsHelp});
    VisitName(v, *this, CroppingTypeOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using Cropping1D = Cropping<1>;
using Cropping2D = Cropping<2>;
using Cropping3D = Cropping<3>;

// Repeats each row and column `size` times; images may be interpolated instead.
template <int axes>
struct UpSampling {
  static constexpr std::string_view kType = UpSamplingTypeOf(axes).type;
  static constexpr std::string_view kSummary = "repeats each row and column, or enlarges an image";
  static constexpr std::string_view kAliases[] = {UpSamplingTypeOf(axes).aliases[0]};
  std::variant<int64_t, std::vector<int64_t>> size = int64_t{2};
  std::string interpolation = "nearest";  // for two axes
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("size", size, {.help = "number of repetitions: one number, or one per axis"});
    if constexpr (axes == 2) {
      v("interpolation", interpolation,
        {.help = "as tf.image.resize",
         .values = {"nearest", "bilinear", "bicubic", "area", "lanczos3", "lanczos5", "gaussian",
                    "mitchellcubic"}});
    }
    VisitName(v, *this, UpSamplingTypeOf(axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using UpSampling1D = UpSampling<1>;
using UpSampling2D = UpSampling<2>;
using UpSampling3D = UpSampling<3>;

}  // namespace tpuest::nn
