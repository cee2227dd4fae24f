#pragma once
// The shapes of the digits: strokes in a unit box, x to the right and y down.

#include <span>
#include <vector>

namespace tpuest::data {

struct Point {
  float x = 0;
  float y = 0;
};

// A smooth curve through its points; a corner is where two strokes meet.
struct Stroke {
  std::vector<Point> points;
  bool closed = false;
};

// One way to write a digit. `width` is its usual width as a fraction of its height.
struct Glyph {
  float width;
  std::vector<Stroke> strokes;
};

// The ways to write a digit 0..9; at least one.
[[nodiscard]] std::span<const Glyph> GlyphsOf(int digit);

}  // namespace tpuest::data
