#include "data/sources/digits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "data/draws.h"
#include "data/sources/digit_glyphs.h"

namespace tpuest::data {
namespace {

constexpr uint64_t kDigitsName = 0x6469676974730001ULL;  // "digits"
constexpr int kPiecesPerSpan = 4;  // straight segments between two points of a stroke

// The map from the unit box to pixels: scale, slant, rotation, shift.
struct Placement {
  float xx, xy, yx, yy, x, y;

  explicit Placement(float width, Draws& draws) {
    const float height = draws.Between(15.0F, 21.0F);
    const float wide = height * width * draws.Between(0.8F, 1.3F);
    const float slant = draws.Around(0.45F);
    // A rotation by angle a with tan(a / 2) = t. Computes sine and cosine without a library,
    // because the last bit of a library's sine depends on the machine.
    const float t = draws.Around(0.15F);
    const float cosine = (1 - t * t) / (1 + t * t);
    const float sine = 2 * t / (1 + t * t);
    xx = wide * cosine;
    yx = wide * sine;
    xy = -height * (slant * cosine + sine);
    yy = height * (cosine - slant * sine);
    x = 0.5F * (kDigitSide - 1) + draws.Around(3.0F);
    y = 0.5F * (kDigitSide - 1) + draws.Around(3.0F);
  }
  [[nodiscard]] Point operator()(Point p) const {
    const float u = p.x - 0.5F;
    const float v = p.y - 0.5F;
    return {x + xx * u + xy * v, y + yx * u + yy * v};
  }
};

// Squared distances of the pixels to the nearest stroke, for distances within `reach`.
class Canvas {
 public:
  explicit Canvas(float reach) : reach_(reach) { squares_.fill(std::numeric_limits<float>::max()); }

  void Line(Point a, Point b) {
    const int left = Clamp(std::min(a.x, b.x) - reach_);
    const int right = Clamp(std::max(a.x, b.x) + reach_ + 1);
    const int top = Clamp(std::min(a.y, b.y) - reach_);
    const int bottom = Clamp(std::max(a.y, b.y) + reach_ + 1);
    const float dx = b.x - a.x;
    const float dy = b.y - a.y;
    // A segment of length 0 (jitter moved two points together) is a dot.
    const float inverse = 1 / std::max(dx * dx + dy * dy, 1e-12F);
    for (int row = top; row < bottom; ++row) {
      float* const squares = &squares_[static_cast<size_t>(row) * kDigitSide];
      const float py = static_cast<float>(row) - a.y;
      for (int column = left; column < right; ++column) {
        const float px = static_cast<float>(column) - a.x;
        const float along = std::clamp((px * dx + py * dy) * inverse, 0.0F, 1.0F);
        const float qx = px - along * dx;
        const float qy = py - along * dy;
        squares[column] = std::min(squares[column], qx * qx + qy * qy);
      }
    }
  }
  [[nodiscard]] const std::array<float, kDigitPixels>& squares() const { return squares_; }

 private:
  static int Clamp(float at) {
    return static_cast<int>(std::clamp(at, 0.0F, static_cast<float>(kDigitSide)));
  }
  float reach_;
  std::array<float, kDigitPixels> squares_;
};

// Catmull-Rom: the curve from b to c at t in [0, 1], given their neighbours a and d.
float CurveAt(float a, float b, float c, float d, float t) {
  const float linear = c - a;
  const float square = 2 * a - 5 * b + 4 * c - d;
  const float cube = 3 * b - a - 3 * c + d;
  return b + 0.5F * t * (linear + t * (square + t * cube));
}

constexpr size_t kMaxPoints = 16;  // points per stroke

void DrawStroke(const Stroke& stroke, const Placement& place, float jitter, Draws& draws,
                Canvas& canvas) {
  std::array<Point, kMaxPoints> points;
  const auto n = static_cast<int>(stroke.points.size());
  for (int i = 0; i < n; ++i) {
    const Point p = stroke.points[static_cast<size_t>(i)];
    const float dx = draws.Around(jitter);
    const float dy = draws.Around(jitter);
    points[static_cast<size_t>(i)] = place({p.x + dx, p.y + dy});
  }
  const auto at = [&](int i) {
    return points[static_cast<size_t>(stroke.closed ? (i + n) % n : std::clamp(i, 0, n - 1))];
  };
  const int spans = stroke.closed ? n : n - 1;
  for (int i = 0; i < spans; ++i) {
    const Point a = at(i - 1), b = at(i), c = at(i + 1), d = at(i + 2);
    Point from = b;
    for (int piece = 1; piece <= kPiecesPerSpan; ++piece) {
      const float t = static_cast<float>(piece) / kPiecesPerSpan;
      const Point to = {CurveAt(a.x, b.x, c.x, d.x, t), CurveAt(a.y, b.y, c.y, d.y, t)};
      canvas.Line(from, to);
      from = to;
    }
  }
}

// Ink falls from full to none over `edge` pixels; noise has a triangular distribution, at most
// `noise` away.
void Ink(const Canvas& canvas, float half_width, float edge, float ink, float noise, Draws& draws,
         std::span<uint8_t, kDigitPixels> pixels) {
  std::array<float, kDigitPixels> levels;
  const float per_edge = 1 / edge;
  for (size_t i = 0; i < kDigitPixels; ++i) {
    const float distance = std::sqrt(canvas.squares()[i]);
    levels[i] = ink * std::clamp((half_width - distance) * per_edge + 0.5F, 0.0F, 1.0F);
  }
  const float unit = noise / 256;
  for (size_t i = 0; i < kDigitPixels; i += 2) {
    // One word of 32 bits gives the noise of two pixels: each is the sum of two bytes, which is
    // triangular.
    const uint32_t word = draws.Word();
    for (size_t k = 0; k < 2; ++k) {
      const auto bits = static_cast<int>(word >> (16 * k));
      const int sum = (bits & 0xFF) + ((bits >> 8) & 0xFF) - 255;
      const float level = levels[i + k] + unit * static_cast<float>(sum);
      const float above = std::clamp(level, 0.0F, 255.0F) + 0.5F;
      pixels[i + k] = static_cast<uint8_t>(above);  // rounds to nearest
    }
  }
}

}  // namespace

int32_t DrawDigit(uint64_t seed, int64_t index, std::span<uint8_t, kDigitPixels> pixels) {
  Draws draws({seed, kDigitsName}, static_cast<uint64_t>(index));
  const auto label = static_cast<int32_t>(draws.Word() % 10);
  const std::span<const Glyph> glyphs = GlyphsOf(label);
  const Glyph& glyph = glyphs[draws.Word() % glyphs.size()];
  const Placement place(glyph.width, draws);
  const float half_width = draws.Between(0.8F, 1.9F);
  const float edge = draws.Between(1.0F, 1.7F);
  const float ink = draws.Between(190.0F, 255.0F);
  const float noise = draws.Between(0.0F, 60.0F);
  const float jitter = draws.Between(0.04F, 0.17F);
  Canvas canvas(half_width + edge);
  for (const Stroke& stroke : glyph.strokes) DrawStroke(stroke, place, jitter, draws, canvas);
  Ink(canvas, half_width, edge, ink, noise, draws, pixels);
  return label;
}

}  // namespace tpuest::data
