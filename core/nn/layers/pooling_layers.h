#pragma once
// Pooling over images [batch, height, width, channels]: tf.layers.max_pooling2d, average_pooling2d
// and Keras's global pooling.

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "core/nn/layers/layer.h"

namespace tpuest::nn {

enum class PoolKind { kMax, kAverage };

struct PoolWords {
  std::string_view type;
  std::array<std::string_view, 2> aliases;
  std::string_view name;  // help
};
[[nodiscard]] constexpr PoolWords WindowWordsOf(PoolKind kind) {
  constexpr PoolWords kWords[] = {{"max_pooling2d",
                                   {"MaxPooling2D", "MaxPool2D"},
                                   "default: max_pooling2d, max_pooling2d_1, ..."},
                                  {"average_pooling2d",
                                   {"AveragePooling2D", "AvgPool2D"},
                                   "default: average_pooling2d, average_pooling2d_1, ..."}};
  return kWords[static_cast<int>(kind)];
}
[[nodiscard]] constexpr PoolWords GlobalWordsOf(PoolKind kind) {
  constexpr PoolWords kWords[] = {{"global_max_pooling2d",
                                   {"GlobalMaxPooling2D", "GlobalMaxPool2D"},
                                   "default: global_max_pooling2d, ..."},
                                  {"global_average_pooling2d",
                                   {"GlobalAveragePooling2D", "GlobalAvgPool2D"},
                                   "default: global_average_pooling2d, ..."}};
  return kWords[static_cast<int>(kind)];
}

// The largest value of each window, or the mean, in which padding does not count.
template <PoolKind kind>
struct Pooling2D {
  static constexpr std::string_view kType = WindowWordsOf(kind).type;
  static constexpr std::array<std::string_view, 2> kAliases = WindowWordsOf(kind).aliases;
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
    v("name", name, {.help = WindowWordsOf(kind).name});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using MaxPooling2D = Pooling2D<PoolKind::kMax>;
using AveragePooling2D = Pooling2D<PoolKind::kAverage>;

// The largest value over height and width, or the mean: [batch, height, width, channels] -> [batch,
// channels].
template <PoolKind kind>
struct GlobalPooling2D {
  static constexpr std::string_view kType = GlobalWordsOf(kind).type;
  static constexpr std::array<std::string_view, 2> kAliases = GlobalWordsOf(kind).aliases;
  std::string name;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("name", name, {.help = GlobalWordsOf(kind).name});
  }

  [[nodiscard]] Value Apply(LayerContext& context, Value x) const;
};
using GlobalMaxPooling2D = GlobalPooling2D<PoolKind::kMax>;
using GlobalAveragePooling2D = GlobalPooling2D<PoolKind::kAverage>;

}  // namespace tpuest::nn
