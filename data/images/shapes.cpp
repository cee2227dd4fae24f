#include "data/images/shapes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "data/images/record_key.h"

namespace tpuest::data {
namespace {

constexpr uint64_t kShapesName = 0x7368617065730001ULL;  // "shapes"

struct Point {
  float x = 0;
  float y = 0;
};

float Squared(float x) { return x * x; }
bool InDisc(Point p, Point middle, float radius) {
  return Squared(p.x - middle.x) + Squared(p.y - middle.y) < radius * radius;
}
bool InBox(Point p, float half_width, float half_height) {
  return std::abs(p.x) < half_width && std::abs(p.y) < half_height;
}
// A point is inside a polygon if a ray from it crosses the outline an odd number of times.
bool InPolygon(Point p, std::span<const Point> corners) {
  bool within = false;
  for (size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
    const Point a = corners[i];
    const Point b = corners[j];
    if ((a.y > p.y) == (b.y > p.y)) continue;
    if (p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) within = !within;
  }
  return within;
}

// Points on a circle, starting at the top, as fractions of its radius. A library's sine is not
// used, because its last bit depends on the machine.
constexpr std::array<Point, 10> kTenth = {{{0, -1},
                                           {0.587785F, -0.809017F},
                                           {0.951057F, -0.309017F},
                                           {0.951057F, 0.309017F},
                                           {0.587785F, 0.809017F},
                                           {0, 1},
                                           {-0.587785F, 0.809017F},
                                           {-0.951057F, 0.309017F},
                                           {-0.951057F, -0.309017F},
                                           {-0.587785F, -0.809017F}}};
constexpr std::array<Point, 3> kThird = {{{0, -1}, {0.866025F, 0.5F}, {-0.866025F, 0.5F}}};

// The region of a point in a drawing: 0 the background, 1 and 2 the shape's two colours. The shape
// lies within distance 1 of the middle.
using PartFn = int (*)(Point);

bool InStar(Point p) {
  std::array<Point, 10> corners = kTenth;
  for (size_t i = 1; i < corners.size(); i += 2) {
    corners[i].x *= 0.42F;
    corners[i].y *= 0.42F;
  }
  return InPolygon(p, corners);
}

constexpr std::array<std::string_view, 10> kShapeNames = {
    "disc", "ring", "square", "triangle", "cross", "star", "half_disc", "bar", "frame", "crescent"};
constexpr std::array<PartFn, 10> kShapeParts = {
    [](Point p) { return InDisc(p, {}, 0.9F) ? 1 : 0; },
    [](Point p) { return InDisc(p, {}, 0.95F) && !InDisc(p, {}, 0.5F) ? 1 : 0; },
    [](Point p) { return InBox(p, 0.8F, 0.8F) ? 1 : 0; },
    [](Point p) { return InPolygon(p, kThird) ? 1 : 0; },
    [](Point p) { return InBox(p, 0.95F, 0.3F) || InBox(p, 0.3F, 0.95F) ? 1 : 0; },
    [](Point p) { return InStar(p) ? 1 : 0; },
    [](Point p) {
      return p.y < 0.3F && InDisc(p, {0, 0.3F}, 1) ? 1 : 0;
    },
    [](Point p) { return InBox(p, 1, 0.28F) ? 1 : 0; },
    [](Point p) { return InBox(p, 0.85F, 0.85F) && !InBox(p, 0.45F, 0.45F) ? 1 : 0; },
    [](Point p) {
      return InDisc(p, {}, 0.95F) && !InDisc(p, {0.5F, 0}, 0.8F) ? 1 : 0;
    }};

bool InPetals(Point p, float distance, float radius, std::span<const Point> directions) {
  return std::ranges::any_of(directions, [&](Point d) {
    return InDisc(p, {d.x * distance, d.y * distance}, radius);
  });
}

int BellParts(Point p) {
  constexpr std::array<Point, 7> kBell = {{{-0.35F, -0.8F},
                                           {0.35F, -0.8F},
                                           {0.8F, 0.6F},
                                           {0.4F, 0.35F},
                                           {0, 0.7F},
                                           {-0.4F, 0.35F},
                                           {-0.8F, 0.6F}}};
  if (InDisc(p, {0, 0.75F}, 0.16F)) return 2;
  return InPolygon(p, kBell) ? 1 : 0;
}
int CloverParts(Point p) {
  if (InBox({p.x, p.y - 0.6F}, 0.07F, 0.4F)) return 2;
  return InPetals(p, 0.48F, 0.44F, kThird) ? 1 : 0;
}
int DaisyParts(Point p) {
  if (InDisc(p, {}, 0.26F)) return 2;
  return InPetals(p, 0.6F, 0.17F, kTenth) || InPetals(p, 0.8F, 0.15F, kTenth) ? 1 : 0;
}
int SunflowerParts(Point p) {
  if (InDisc(p, {}, 0.6F)) return 2;
  return InPetals(p, 0.72F, 0.26F, kTenth) ? 1 : 0;
}
int TulipParts(Point p) {
  constexpr std::array<Point, 7> kCup = {{{-0.6F, -0.9F},
                                          {-0.25F, -0.45F},
                                          {0, -0.95F},
                                          {0.25F, -0.45F},
                                          {0.6F, -0.9F},
                                          {0.45F, 0.1F},
                                          {-0.45F, 0.1F}}};
  if (InBox({p.x, p.y - 0.6F}, 0.08F, 0.4F)) return 2;
  return InPolygon(p, kCup) || InDisc(p, {0, 0.02F}, 0.45F) ? 1 : 0;
}

constexpr std::array<std::string_view, 5> kFlowerNames = {"bellflower", "clover", "daisy",
                                                          "sunflower", "tulip"};
constexpr std::array<PartFn, 5> kFlowerParts = {BellParts, CloverParts, DaisyParts, SunflowerParts,
                                                TulipParts};

using Color = std::array<float, 3>;
// The central colours of each kind: of its shape, and of its second part.
constexpr std::array<std::array<Color, 2>, 5> kFlowerColors = {{{{{110, 80, 200}, {230, 220, 120}}},
                                                                {{{60, 160, 70}, {40, 100, 50}}},
                                                                {{{225, 225, 215}, {225, 190, 50}}},
                                                                {{{235, 190, 40}, {95, 60, 30}}},
                                                                {{{205, 50, 70}, {60, 130, 60}}}}};

Color DrawColor(Draws& draws, const Color& middle, float reach) {
  Color color;
  for (size_t c = 0; c < color.size(); ++c) {
    color[c] = std::clamp(middle[c] + draws.Between(-reach, reach), 0.0F, 255.0F);
  }
  return color;
}

float Distance(const Color& a, const Color& b) {
  return std::abs(a[0] - b[0]) + std::abs(a[1] - b[1]) + std::abs(a[2] - b[2]);
}

// The colours of background, shape and second part.
using Palette = std::array<Color, 3>;

Palette DrawPalette(ShapeFamily family, size_t kind, Draws& draws) {
  constexpr Color kGray = {127.5F, 127.5F, 127.5F};
  constexpr float kAny = 127.5F;
  Palette palette;
  palette[0] = DrawColor(draws, kGray, kAny);
  if (family == ShapeFamily::kFlowers) {
    palette[1] = DrawColor(draws, kFlowerColors[kind][0], 45);
    palette[2] = DrawColor(draws, kFlowerColors[kind][1], 45);
  } else {
    palette[1] = palette[2] = DrawColor(draws, kGray, kAny);
  }
  // If the shape would be hard to see, the background becomes the opposite colour.
  constexpr float kLeast = 150;
  if (Distance(palette[0], palette[1]) < kLeast) {
    for (size_t c = 0; c < 3; ++c) palette[0][c] = palette[1][c] < kAny ? 235.0F : 20.0F;
  }
  return palette;
}

// Maps pixels to the shape's own coordinates.
struct ShapePlace {
  Point middle;
  float scale = 1;  // pixels per unit
  float cosine = 1;
  float sine = 0;

  ShapePlace(int64_t size, Draws& draws) {
    const auto wide = static_cast<float>(size);
    scale = wide * draws.Between(0.22F, 0.42F);
    const float room = wide - 2 * scale;
    middle = {scale + room * draws.Uniform(), scale + room * draws.Uniform()};
    // A rotation by angle a with tan(a / 2) = t, at most a quarter of a right angle.
    const float t = draws.Between(-0.2F, 0.2F);
    cosine = (1 - t * t) / (1 + t * t);
    sine = 2 * t / (1 + t * t);
  }
  [[nodiscard]] Point In(float x, float y) const {
    const float dx = (x - middle.x) / scale;
    const float dy = (y - middle.y) / scale;
    return {cosine * dx + sine * dy, cosine * dy - sine * dx};
  }
};

// The mean of four points within a pixel.
Color Painted(const ShapePlace& place, PartFn part, const Palette& palette, int64_t x, int64_t y) {
  Color sum = {};
  for (const float dy : {0.25F, 0.75F}) {
    for (const float dx : {0.25F, 0.75F}) {
      const Point at = place.In(static_cast<float>(x) + dx, static_cast<float>(y) + dy);
      const Color& color = palette[static_cast<size_t>(part(at))];
      for (size_t c = 0; c < 3; ++c) sum[c] += color[c];
    }
  }
  for (float& c : sum) c /= 4;
  return sum;
}

}  // namespace

std::span<const std::string_view> ShapeNames(ShapeFamily family) {
  if (family == ShapeFamily::kFlowers) return kFlowerNames;
  return kShapeNames;
}

int32_t DrawShape(const ShapeSet& set, int64_t index, uint8_t* pixels) {
  const bool flowers = set.family == ShapeFamily::kFlowers;
  const RecordKey image{set.seed, 0, flowers ? 1ULL : 0ULL, static_cast<uint64_t>(index)};
  Draws draws = DrawsFor(image, kShapesName);
  const auto kind = static_cast<size_t>(draws.Below(set.classes));
  const Palette palette = DrawPalette(set.family, kind, draws);
  const ShapePlace place(set.size, draws);
  const float noise = draws.Between(2, 20);
  const PartFn part = flowers ? kFlowerParts[kind] : kShapeParts[kind];
  for (int64_t y = 0; y < set.size; ++y) {
    for (int64_t x = 0; x < set.size; ++x, pixels += 3) {
      const Color color = Painted(place, part, palette, x, y);
      const uint32_t word = draws.Word();
      for (size_t c = 0; c < 3; ++c) {
        const auto byte = static_cast<float>(word >> (8 * c) & 255U);
        const float value = color[c] + noise * (byte - 127.5F) / 127.5F;
        pixels[c] = static_cast<uint8_t>(std::clamp(value, 0.0F, 255.0F));
      }
    }
  }
  return static_cast<int32_t>(kind);
}

}  // namespace tpuest::data
