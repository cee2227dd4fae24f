#pragma once
// Drawn images to learn from without a file: a shape of one of several kinds, whose place, size,
// turn and colours, and the noise over all of it, are drawn. Each is a pure function of (set,
// index).

#include <cstdint>
#include <span>
#include <string_view>

namespace tpuest::data {

enum class ShapeFamily : uint8_t {
  kShapes,  // ten kinds, whose colours say nothing
  kFlowers  // five kinds, each with its own range of colours
};

// Names of the family's kinds, in the order of their labels.
[[nodiscard]] std::span<const std::string_view> ShapeNames(ShapeFamily family);

struct ShapeSet {
  ShapeFamily family = ShapeFamily::kShapes;
  uint64_t seed = 0;
  int64_t classes = 10;  // the first so many kinds
  int64_t size = 32;     // height and width
};

// Draws image `index`, [size, size, 3]. Its label.
int32_t DrawShape(const ShapeSet& set, int64_t index, uint8_t* pixels);

}  // namespace tpuest::data
