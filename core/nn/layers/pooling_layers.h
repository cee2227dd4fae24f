#pragma once
// Pooling of [batch, ..., channels] over the one to three axes in between, by windows or as a
// whole: tf.layers.max_pooling2d and its relatives, and Keras' global pooling.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

enum class PoolKind { kMax, kAverage };

[[nodiscard]] constexpr LayerType WindowTypeOf(PoolKind kind, int axes) {
  constexpr LayerType kTypes[][2] = {
      {{"max_pooling1d",
        {"MaxPooling1D", "MaxPool1D"},
        "name of the layer; default: max_pooling1d, max_pooling1d_1, ..."},
       {"average_pooling1d",
        {"AveragePooling1D", "AvgPool1D"},
        "name of the layer; default: average_pooling1d, ..."}},
      {{"max_pooling2d",
        {"MaxPooling2D", "MaxPool2D"},
        "name of the layer; default: max_pooling2d, max_pooling2d_1, ..."},
       {"average_pooling2d",
        {"AveragePooling2D", "AvgPool2D"},
        "name of the layer; default: average_pooling2d, average_pooling2d_1, ..."}},
      {{"max_pooling3d",
        {"MaxPooling3D", "MaxPool3D"},
        "name of the layer; default: max_pooling3d, ..."},
       {"average_pooling3d",
        {"AveragePooling3D", "AvgPool3D"},
        "name of the layer; default: average_pooling3d, ..."}}};
  return kTypes[axes - 1][static_cast<int>(kind)];
}
[[nodiscard]] constexpr LayerType GlobalTypeOf(PoolKind kind, int axes) {
  constexpr LayerType kTypes[][2] = {
      {{"global_max_pooling1d",
        {"GlobalMaxPooling1D", "GlobalMaxPool1D"},
        "name of the layer; default: global_max_pooling1d, ..."},
       {"global_average_pooling1d",
        {"GlobalAveragePooling1D", "GlobalAvgPool1D"},
        "name of the layer; default: global_average_pooling1d, ..."}},
      {{"global_max_pooling2d",
        {"GlobalMaxPooling2D", "GlobalMaxPool2D"},
        "name of the layer; default: global_max_pooling2d, ..."},
       {"global_average_pooling2d",
        {"GlobalAveragePooling2D", "GlobalAvgPool2D"},
        "name of the layer; default: global_average_pooling2d, ..."}},
      {{"global_max_pooling3d",
        {"GlobalMaxPooling3D", "GlobalMaxPool3D"},
        "name of the layer; default: global_max_pooling3d, ..."},
       {"global_average_pooling3d",
        {"GlobalAveragePooling3D", "GlobalAvgPool3D"},
        "name of the layer; default: global_average_pooling3d, ..."}}};
  return kTypes[axes - 1][static_cast<int>(kind)];
}

// The maximum or the mean of each window; padding does not count in the mean.
template <PoolKind kind, int axes>
struct Pooling {
  static constexpr std::string_view kType = WindowTypeOf(kind, axes).type;
  static constexpr std::string_view kSummary =
      kind == PoolKind::kMax ? std::string_view("largest value of each window")
                             : "mean of each window";
  static constexpr std::array<std::string_view, 2> kAliases = WindowTypeOf(kind, axes).aliases;
  Sides pool_size = 2;
  std::optional<Sides> strides;
  std::string padding = "valid";
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("pool_size", pool_size,
      {.help = axes == 1   ? kSideHelp
               : axes == 2 ? std::string_view("one integer, or height and width")
                           : kThreeSidesHelp});
    v("strides", strides, {.help = "step between windows; `null` is pool_size"});
    v("padding", padding,
      {.help = "`same` pads the edges; `valid` uses whole windows only",
       .values = {"valid", "same", "VALID", "SAME"}});
    VisitName(v, *this, WindowTypeOf(kind, axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using MaxPooling1D = Pooling<PoolKind::kMax, 1>;
using AveragePooling1D = Pooling<PoolKind::kAverage, 1>;
using MaxPooling2D = Pooling<PoolKind::kMax, 2>;
using AveragePooling2D = Pooling<PoolKind::kAverage, 2>;
using MaxPooling3D = Pooling<PoolKind::kMax, 3>;
using AveragePooling3D = Pooling<PoolKind::kAverage, 3>;

// The maximum or the mean over all axes except batch and channels: [batch, ..., channels] ->
// [batch, channels], or with axes of size 1 in between.
template <PoolKind kind, int axes>
struct GlobalPooling {
  static constexpr std::string_view kType = GlobalTypeOf(kind, axes).type;
  static constexpr std::string_view kSummary =
      kind == PoolKind::kMax ? std::string_view("largest value of each channel")
                             : "mean of each channel";
  static constexpr std::array<std::string_view, 2> kAliases = GlobalTypeOf(kind, axes).aliases;
  bool keepdims = false;
  std::string name;
  LayerInputs inputs;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("keepdims", keepdims, {.help = "keep the pooled axes with size 1"});
    VisitName(v, *this, GlobalTypeOf(kind, axes).name);
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using GlobalMaxPooling1D = GlobalPooling<PoolKind::kMax, 1>;
using GlobalAveragePooling1D = GlobalPooling<PoolKind::kAverage, 1>;
using GlobalMaxPooling2D = GlobalPooling<PoolKind::kMax, 2>;
using GlobalAveragePooling2D = GlobalPooling<PoolKind::kAverage, 2>;
using GlobalMaxPooling3D = GlobalPooling<PoolKind::kMax, 3>;
using GlobalAveragePooling3D = GlobalPooling<PoolKind::kAverage, 3>;

}  // namespace tpuest::nn
