#include "core/kernels/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/tensor/elements.h"

namespace tpuest {
namespace {

float ScaleOf(ResizeGrid grid, int64_t in, int64_t out) {
  if (grid == ResizeGrid::kAlignCorners && out > 1) {
    return static_cast<float>(in - 1) / static_cast<float>(out - 1);
  }
  return static_cast<float>(in) / static_cast<float>(out);
}

// The position in the image that result i of an axis reads.
float PlaceOf(ResizeGrid grid, int64_t i, float scale) {
  const auto at = static_cast<float>(i);
  return grid == ResizeGrid::kHalfPixel ? (at + 0.5F) * scale - 0.5F : at * scale;
}

int64_t Bounded(int64_t pixel, int64_t in) { return std::clamp<int64_t>(pixel, 0, in - 1); }

// Keys' cubic kernel in 1024 steps: near[i] is its value at i / 1024, far[i] at 1 + i / 1024. (R.
// Keys, Cubic convolution interpolation for digital image processing, 1981; A is his a.)
constexpr int kCubicSteps = 1024;
struct Cubic {
  std::array<float, kCubicSteps + 1> near;
  std::array<float, kCubicSteps + 1> far;

  explicit Cubic(double a) {
    for (size_t i = 0; i <= kCubicSteps; ++i) {
      float x = static_cast<float>(static_cast<double>(i) / kCubicSteps);
      near[i] = static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
      x = static_cast<float>(x + 1.0);
      far[i] = static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
    }
  }
};

const Cubic& CubicOf(ResizeGrid grid) {
  static const Cubic kHalfPixels(-0.5);
  static const Cubic kOthers(-0.75);
  return grid == ResizeGrid::kHalfPixel ? kHalfPixels : kOthers;
}

// a + b, where b is rounded to T first.
template <class T, class B>
T PlusRounded(T a, B b) {
  using Wide = std::conditional_t<std::is_same_v<T, bfloat16>, float, T>;
  return ConvertTo<T>(ConvertTo<Wide>(a) + ConvertTo<Wide>(ConvertTo<T>(b)));
}

}  // namespace

Resize::Resize(const ResizeShape& shape) : shape_(shape) {
  if (shape.method == ResizeMethod::kArea) {
    row_covers_ = CoversOf(shape.in_height, shape.out_height);
    column_covers_ = CoversOf(shape.in_width, shape.out_width);
  } else {
    rows_ = TapsOf(shape.in_height, shape.out_height);
    columns_ = TapsOf(shape.in_width, shape.out_width);
  }
}

std::vector<Resize::Taps> Resize::TapsOf(int64_t in, int64_t out) const {
  const float scale = ScaleOf(shape_.grid, in, out);
  const bool half = shape_.grid == ResizeGrid::kHalfPixel;
  std::vector<Taps> all(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    Taps& taps = all[static_cast<size_t>(i)];
    if (shape_.method == ResizeMethod::kNearest) {
      const float at =
          half ? (static_cast<float>(i) + 0.5F) * scale : static_cast<float>(i) * scale;
      const bool rounds = shape_.grid == ResizeGrid::kAlignCorners;
      taps.pixel[0] = Bounded(static_cast<int64_t>(rounds ? std::round(at) : std::floor(at)), in);
      continue;
    }
    const float place = PlaceOf(shape_.grid, i, scale);
    const float below = std::floor(place);
    const auto first = static_cast<int64_t>(below);
    if (shape_.method == ResizeMethod::kBilinear) {
      taps.pixel[0] = std::max<int64_t>(first, 0);
      taps.pixel[1] = std::min(static_cast<int64_t>(std::ceil(place)), in - 1);
      taps.weight[1] = place - below;
      continue;
    }
    const Cubic& cubic = CubicOf(shape_.grid);
    const auto step = static_cast<size_t>(std::lrint((place - below) * kCubicSteps));
    const float weights[] = {cubic.far[step], cubic.near[step], cubic.near[kCubicSteps - step],
                             cubic.far[kCubicSteps - step]};
    for (int k = 0; k < 4; ++k) {
      taps.pixel[k] = Bounded(first - 1 + k, in);
      const bool counts = !half || taps.pixel[k] == first - 1 + k;
      taps.weight[k] = counts ? weights[k] : 0.0F;
    }
    if (!half) continue;
    const float sum = taps.weight[0] + taps.weight[1] + taps.weight[2] + taps.weight[3];
    if (std::abs(sum) < 1000.0F * std::numeric_limits<float>::min()) continue;
    const float share = 1.0F / sum;
    for (float& weight : taps.weight) weight *= share;
  }
  return all;
}

std::vector<Resize::Cover> Resize::CoversOf(int64_t in, int64_t out) const {
  const float scale = ScaleOf(shape_.grid, in, out);
  std::vector<Cover> all(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const float from = static_cast<float>(i) * scale;
    const float to = static_cast<float>(i + 1) * scale;
    Cover& cover = all[static_cast<size_t>(i)];
    cover.begin = static_cast<int64_t>(std::floor(from));
    cover.end = static_cast<int64_t>(std::ceil(to));
    for (int64_t pixel = cover.begin; pixel < cover.end; ++pixel) {
      const auto left = static_cast<float>(pixel);
      const auto right = static_cast<float>(pixel + 1);
      cover.part.push_back(left < from ? (right > to ? scale : right - from)
                                       : (right > to ? to - left : 1.0F));
    }
  }
  return all;
}

size_t Resize::scratch_bytes() const {
  if (shape_.method == ResizeMethod::kBilinear) {
    return static_cast<size_t>(2 * shape_.out_width * shape_.channels) * sizeof(float);
  }
  if (shape_.method == ResizeMethod::kBicubic) {
    return static_cast<size_t>(shape_.in_width * shape_.channels) * sizeof(float);
  }
  return 0;
}

template <class T>
void Resize::Nearest(const T* image, T* resized) const {
  for (const Taps& row : rows_) {
    const T* const from = image + row.pixel[0] * shape_.in_width * shape_.channels;
    for (const Taps& column : columns_) {
      std::copy_n(from + column.pixel[0] * shape_.channels, shape_.channels, resized);
      resized += shape_.channels;
    }
  }
}

template <class T>
void Resize::Across(const T* row, float* across) const {
  const int64_t channels = shape_.channels;
  if (channels == 3) {
    // A constant number of channels makes the loop three times as fast.
    for (const Taps& column : columns_) {
      const T* const left = row + column.pixel[0] * 3;
      const T* const right = row + column.pixel[1] * 3;
      const float far = column.weight[1];
      for (int c = 0; c < 3; ++c) {
        const auto a = ConvertTo<float>(left[c]);
        across[c] = a + (ConvertTo<float>(right[c]) - a) * far;
      }
      across += 3;
    }
    return;
  }
  for (const Taps& column : columns_) {
    const T* const left = row + column.pixel[0] * channels;
    const T* const right = row + column.pixel[1] * channels;
    const float far = column.weight[1];
    for (int64_t c = 0; c < channels; ++c) {
      const auto a = ConvertTo<float>(left[c]);
      across[c] = a + (ConvertTo<float>(right[c]) - a) * far;
    }
    across += channels;
  }
}

// Resizes each row of the image to the result's width once, and keeps it for the next result that
// reads it.
template <class T>
void Resize::Bilinear(const T* image, float* resized, float* scratch) const {
  const int64_t in_row = shape_.in_width * shape_.channels;
  const int64_t out_row = shape_.out_width * shape_.channels;
  float* kept[2] = {scratch, scratch + out_row};
  int64_t kept_row[2] = {-1, -1};
  for (const Taps& taps : rows_) {
    const int64_t top = taps.pixel[0];
    const int64_t bottom = taps.pixel[1];
    if (kept_row[0] != top) {
      std::swap(kept[0], kept[1]);
      std::swap(kept_row[0], kept_row[1]);
    }
    if (kept_row[0] != top) {
      Across(image + top * in_row, kept[0]);
      kept_row[0] = top;
    }
    if (bottom != top && kept_row[1] != bottom) {
      Across(image + bottom * in_row, kept[1]);
      kept_row[1] = bottom;
    }
    const float* const above = kept[0];
    const float* const below = bottom == top ? kept[0] : kept[1];
    const float far = taps.weight[1];
    for (int64_t k = 0; k < out_row; ++k) resized[k] = above[k] + (below[k] - above[k]) * far;
    resized += out_row;
  }
}

template <class T>
void Resize::Bicubic(const T* image, float* resized, float* scratch) const {
  const int64_t channels = shape_.channels;
  const int64_t in_row = shape_.in_width * channels;
  for (const Taps& taps : rows_) {
    const T* from[4];
    for (int k = 0; k < 4; ++k) from[k] = image + taps.pixel[k] * in_row;
    const float* const y = taps.weight;
    for (int64_t k = 0; k < in_row; ++k) {
      scratch[k] = ConvertTo<float>(from[0][k]) * y[0] + ConvertTo<float>(from[1][k]) * y[1] +
                   ConvertTo<float>(from[2][k]) * y[2] + ConvertTo<float>(from[3][k]) * y[3];
    }
    for (const Taps& column : columns_) {
      const float* const x = column.weight;
      for (int64_t c = 0; c < channels; ++c) {
        const auto at = [&](int k) { return scratch[column.pixel[k] * channels + c]; };
        resized[c] = at(0) * x[0] + at(1) * x[1] + at(2) * x[2] + at(3) * x[3];
      }
      resized += channels;
    }
  }
}

template <class T>
void Resize::Area(const T* image, float* resized) const {
  const int64_t channels = shape_.channels;
  const float share =
      static_cast<float>(1.0 / (ScaleOf(shape_.grid, shape_.in_height, shape_.out_height) *
                                ScaleOf(shape_.grid, shape_.in_width, shape_.out_width)));
  for (const Cover& rows : row_covers_) {
    for (const Cover& columns : column_covers_) {
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (int64_t i = rows.begin; i < rows.end; ++i) {
          const T* const row =
              image + Bounded(i, shape_.in_height) * shape_.in_width * channels + c;
          float across = 0;
          for (int64_t j = columns.begin; j < columns.end; ++j) {
            const auto pixel = ConvertTo<float>(row[Bounded(j, shape_.in_width) * channels]);
            across += pixel * columns.part[static_cast<size_t>(j - columns.begin)];
          }
          sum += across * rows.part[static_cast<size_t>(i - rows.begin)];
        }
        resized[c] = sum * share;
      }
      resized += channels;
    }
  }
}

bool Resize::Run(DType dtype, const void* image, void* resized, void* scratch) const {
  return DispatchDType(dtype, [&]<class T>() {
    const T* const from = static_cast<const T*>(image);
    auto* const to = static_cast<float*>(resized);
    auto* const own = static_cast<float*>(scratch);
    switch (shape_.method) {
      case ResizeMethod::kNearest:
        return Nearest(from, static_cast<T*>(resized));
      case ResizeMethod::kBilinear:
        return Bilinear(from, to, own);
      case ResizeMethod::kBicubic:
        return Bicubic(from, to, own);
      case ResizeMethod::kArea:
        return Area(from, to);
    }
  });
}

namespace {

// The amount that dy of a result adds to each of its pixels.
template <class T, class Dy>
struct Spread {
  T* dx;
  int64_t width;
  int64_t channels;

  template <class Part>
  void Add(int64_t row, int64_t column, const Dy* dy, Part&& part) const {
    T* const to = dx + (row * width + column) * channels;
    for (int64_t c = 0; c < channels; ++c) to[c] = PlusRounded(to[c], part(dy[c]));
  }
};

}  // namespace

// The weight of a pixel is the weight of its row times the weight of its column.
template <class T>
void Resize::AreaGrad(const float* dy, T* dx) const {
  const int64_t channels = shape_.channels;
  const std::vector<std::vector<Share>> columns = ColumnShares();
  std::fill_n(dx, shape_.in_height * shape_.in_width * channels, T{});
  for (const std::vector<Share>& rows : RowShares()) {
    for (const std::vector<Share>& parts : columns) {
      for (const Share& row : rows) {
        for (const Share& column : parts) {
          T* const to = dx + (row.pixel * shape_.in_width + column.pixel) * channels;
          const float weight = row.weight * column.weight;
          for (int64_t c = 0; c < channels; ++c) to[c] = PlusRounded(to[c], dy[c] * weight);
        }
      }
      dy += channels;
    }
  }
}

bool Resize::RunGrad(DType dtype, const void* dy, void* dx) const {
  if (!IsFloating(dtype)) return false;
  const int64_t in = shape_.in_height * shape_.in_width * shape_.channels;
  // Adds dy to all pixels of its result, row by row, pixel by pixel.
  const auto spread = [&]<class T, class Dy>(T* to, const Dy* d, const auto& add) {
    std::fill_n(to, in, T{});
    const Spread<T, Dy> image{to, shape_.in_width, shape_.channels};
    for (const Taps& y : rows_) {
      for (const Taps& x : columns_) {
        add(image, y, x, d);
        d += shape_.channels;
      }
    }
  };
  const auto near = [](const auto& image, const Taps& y, const Taps& x, const auto* d) {
    image.Add(y.pixel[0], x.pixel[0], d, [](auto v) { return v; });
  };
  const auto linear = [](const auto& image, const Taps& y, const Taps& x, const float* d) {
    const float bottom = y.weight[1], right = x.weight[1];
    const float top = 1.0F - bottom, left = 1.0F - right;
    image.Add(y.pixel[0], x.pixel[0], d, [&](float v) { return v * top * left; });
    image.Add(y.pixel[0], x.pixel[1], d, [&](float v) { return v * top * right; });
    image.Add(y.pixel[1], x.pixel[0], d, [&](float v) { return v * bottom * left; });
    image.Add(y.pixel[1], x.pixel[1], d, [&](float v) { return v * bottom * right; });
  };
  const auto cubic = [](const auto& image, const Taps& y, const Taps& x, const float* d) {
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        image.Add(y.pixel[i], x.pixel[j], d,
                  [&](float v) { return v * y.weight[i] * x.weight[j]; });
      }
    }
  };
  return DispatchDType(dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> ||
                  std::is_same_v<T, bfloat16>) {
      auto* const to = static_cast<T*>(dx);
      if (shape_.method == ResizeMethod::kNearest) {
        spread(to, static_cast<const T*>(dy), near);
      } else if (shape_.method == ResizeMethod::kBilinear) {
        spread(to, static_cast<const float*>(dy), linear);
      } else if (shape_.method == ResizeMethod::kArea) {
        AreaGrad(static_cast<const float*>(dy), to);
      } else {
        spread(to, static_cast<const float*>(dy), cubic);
      }
    }
  });
}

std::vector<std::vector<Resize::Share>> Resize::SharesOf(const std::vector<Taps>& taps) const {
  std::vector<std::vector<Share>> all;
  for (const Taps& one : taps) {
    std::vector<Share> shares;
    if (shape_.method == ResizeMethod::kNearest) {
      shares = {{one.pixel[0], 1}};
    } else if (shape_.method == ResizeMethod::kBilinear) {
      shares = {{one.pixel[0], 1 - one.weight[1]}, {one.pixel[1], one.weight[1]}};
    } else {
      for (int k = 0; k < 4; ++k) shares.push_back({one.pixel[k], one.weight[k]});
    }
    all.push_back(std::move(shares));
  }
  return all;
}

std::vector<std::vector<Resize::Share>> Resize::SharesOf(const std::vector<Cover>& covers,
                                                         int64_t in, int64_t out) const {
  const float scale = ScaleOf(shape_.grid, in, out);
  std::vector<std::vector<Share>> all;
  for (const Cover& cover : covers) {
    std::vector<Share> shares;
    for (int64_t pixel = cover.begin; pixel < cover.end; ++pixel) {
      const float part = cover.part[static_cast<size_t>(pixel - cover.begin)];
      shares.push_back({Bounded(pixel, in), part / scale});
    }
    all.push_back(std::move(shares));
  }
  return all;
}

std::vector<std::vector<Resize::Share>> Resize::RowShares() const {
  if (shape_.method != ResizeMethod::kArea) return SharesOf(rows_);
  return SharesOf(row_covers_, shape_.in_height, shape_.out_height);
}

std::vector<std::vector<Resize::Share>> Resize::ColumnShares() const {
  if (shape_.method != ResizeMethod::kArea) return SharesOf(columns_);
  return SharesOf(column_covers_, shape_.in_width, shape_.out_width);
}

}  // namespace tpuest
