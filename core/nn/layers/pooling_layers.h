#pragma once
// Pooling over images [batch, height, width, channels].

#include <optional>
#include <string>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

struct MaxPooling2D {
  static constexpr std::string_view kType = "max_pooling2d";
  static constexpr std::string_view kAliases[] = {"MaxPooling2D", "MaxPool2D"};
  Sides pool_size = 2;
  std::optional<Sides> strides;
  std::string padding = "valid";
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("pool_size", pool_size, {.help = "one integer, or height and width"});
    v("strides", strides, {.help = "null: pool_size"});
    v("padding", padding, {.help = "at the edges", .values = {"valid", "same", "VALID", "SAME"}});
    v("name", name, {.help = "default: max_pooling2d, max_pooling2d_1, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// Padding does not count in the mean.
struct AveragePooling2D {
  static constexpr std::string_view kType = "average_pooling2d";
  static constexpr std::string_view kAliases[] = {"AveragePooling2D", "AvgPool2D"};
  Sides pool_size = 2;
  std::optional<Sides> strides;
  std::string padding = "valid";
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("pool_size", pool_size, {.help = "one integer, or height and width"});
    v("strides", strides, {.help = "null: pool_size"});
    v("padding", padding, {.help = "at the edges", .values = {"valid", "same", "VALID", "SAME"}});
    v("name", name, {.help = "default: average_pooling2d, average_pooling2d_1, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// The mean over height and width: [batch, height, width, channels] -> [batch, channels].
struct GlobalAveragePooling2D {
  static constexpr std::string_view kType = "global_average_pooling2d";
  static constexpr std::string_view kAliases[] = {"GlobalAveragePooling2D", "GlobalAvgPool2D"};
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("name", name, {.help = "default: global_average_pooling2d, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

// The largest value over height and width: [batch, height, width, channels] -> [batch, channels].
struct GlobalMaxPooling2D {
  static constexpr std::string_view kType = "global_max_pooling2d";
  static constexpr std::string_view kAliases[] = {"GlobalMaxPooling2D", "GlobalMaxPool2D"};
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("name", name, {.help = "default: global_max_pooling2d, ..."});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};

}  // namespace tpuest::nn
