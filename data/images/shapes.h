#pragma once
// Generated images for examples without files: a shape of one of several kinds with random
// position, size, rotation, colours and noise. Each image is a pure function of (set, index).

#include <cstdint>
#include <span>
#include <string_view>

namespace tpuest::data {

enum class ShapeFamily : uint8_t {
  kShapes,  // ten kinds; colours carry no information
  kFlowers  // five kinds, each with its own range of colours
};

// Names of the family's kinds, in label order.
[[nodiscard]] std::span<const std::string_view> ShapeNames(ShapeFamily family);

struct ShapeSet {
  ShapeFamily family = ShapeFamily::kShapes;
  uint64_t seed = 0;
  int64_t classes = 10;  // the first `classes` kinds are used
  int64_t size = 32;     // height and width
};

// Draws image `index`, [size, size, 3], and returns its label.
int32_t DrawShape(const ShapeSet& set, int64_t index, uint8_t* pixels);

}  // namespace tpuest::data
