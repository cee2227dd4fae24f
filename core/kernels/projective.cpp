#include "core/kernels/projective.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/tensor/elements.h"

namespace tpuest {
namespace {

// Maps a coordinate beyond an axis of `length` to the coordinate inside that it stands for. The
// last step corrects a value that would round to the pixel after the last.
float Reflected(float at, int64_t length) {
  const float last = static_cast<float>(length - 1);
  if (length <= 1 && (at < 0 || at > last)) return 0;
  const auto period = static_cast<float>(2 * length);
  if (at < 0) {
    if (at < period) at = period * static_cast<float>(static_cast<int64_t>(-at / period)) + at;
    at = at < -static_cast<float>(length) ? at + period : -at - 1;
  } else if (at > last) {
    at -= period * static_cast<float>(static_cast<int64_t>(at / period));
    if (at >= static_cast<float>(length)) at = period - at - 1;
  }
  return std::clamp(at, 0.0F, last);
}

float Wrapped(float at, int64_t length) {
  const float last = static_cast<float>(length - 1);
  if (length <= 1 && (at < 0 || at > last)) return 0;
  const auto whole = static_cast<float>(length);
  if (at < 0) {
    at += whole * static_cast<float>(static_cast<int64_t>(-at / last) + 1);
  } else if (at > last) {
    at -= whole * static_cast<float>(static_cast<int64_t>(at / last));
  }
  return std::clamp(at, 0.0F, last);
}

float Within(FillMode mode, float at, int64_t length) {
  switch (mode) {
    case FillMode::kReflect:
      return Reflected(at, length);
    case FillMode::kWrap:
      return Wrapped(at, length);
    case FillMode::kNearest:
      return std::clamp(at, 0.0F, static_cast<float>(length - 1));
    case FillMode::kConstant:
      break;
  }
  return at;
}

// Returns the index of a pixel from whole coordinates, which may be far outside; -1 means outside.
int64_t PixelAt(const ProjectiveShape& s, float y, float x) {
  const bool inside =
      y >= 0 && x >= 0 && y < static_cast<float>(s.in_height) && x < static_cast<float>(s.in_width);
  return inside ? static_cast<int64_t>(y) * s.in_width + static_cast<int64_t>(x) : -1;
}

// The pixels from which a result is computed: up to four (-1: outside the image) and their weights,
// the upper row first.
struct Source {
  bool anywhere = true;  // false at infinity
  int64_t pixel[4] = {-1, -1, -1, -1};
  float across[4] = {};  // weight within the row
  float down[2] = {};    // weights of the upper and lower rows
};

Source SourceOf(const ProjectiveShape& s, const float* t, int64_t row, int64_t column) {
  const auto x = static_cast<float>(column);
  const auto y = static_cast<float>(row);
  const float depth = t[6] * x + t[7] * y + 1.0F;
  if (depth == 0) return {.anywhere = false};
  const float in_x = Within(s.fill_mode, (t[0] * x + t[1] * y + t[2]) / depth, s.in_width);
  const float in_y = Within(s.fill_mode, (t[3] * x + t[4] * y + t[5]) / depth, s.in_height);
  Source from;
  if (!s.bilinear) {
    from.pixel[0] = PixelAt(s, std::round(in_y), std::round(in_x));
    return from;
  }
  const float top = std::floor(in_y), left = std::floor(in_x);
  const float bottom = top + 1, right = left + 1;
  from.pixel[0] = PixelAt(s, top, left);
  from.pixel[1] = PixelAt(s, top, right);
  from.pixel[2] = PixelAt(s, bottom, left);
  from.pixel[3] = PixelAt(s, bottom, right);
  from.across[0] = from.across[2] = right - in_x;
  from.across[1] = from.across[3] = in_x - left;
  from.down[0] = bottom - in_y;
  from.down[1] = in_y - top;
  return from;
}

// Calls fn(result pixel, source) for each pixel of the result.
template <class Fn>
void ForEachResult(const ProjectiveShape& s, const float* transform, Fn&& fn) {
  for (int64_t i = 0; i < s.out_height; ++i) {
    for (int64_t j = 0; j < s.out_width; ++j) {
      fn(i * s.out_width + j, SourceOf(s, transform, i, j));
    }
  }
}

template <class T>
void Projective(const ProjectiveShape& s, const float* transform, float fill_value,
                const void* image_raw, void* y_raw) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T* const image = static_cast<const T*>(image_raw);
  const T fill = ConvertTo<T>(fill_value);
  ForEachResult(s, transform, [&](int64_t result, const Source& from) {
    T* const y = static_cast<T*>(y_raw) + result * s.channels;
    if (!from.anywhere) {
      std::fill_n(y, s.channels, fill);
      return;
    }
    const auto read = [&](int k, int64_t c) {
      return from.pixel[k] < 0 ? fill : image[from.pixel[k] * s.channels + c];
    };
    for (int64_t c = 0; c < s.channels; ++c) {
      if (!s.bilinear) {
        y[c] = read(0, c);
        continue;
      }
      const A top =
          from.across[0] * ConvertTo<A>(read(0, c)) + from.across[1] * ConvertTo<A>(read(1, c));
      const A bottom =
          from.across[2] * ConvertTo<A>(read(2, c)) + from.across[3] * ConvertTo<A>(read(3, c));
      y[c] = ConvertTo<T>(from.down[0] * top + from.down[1] * bottom);
    }
  });
}

template <class T>
void ProjectiveGrad(const ProjectiveShape& s, const float* transform, const void* dy_raw,
                    void* dx_raw) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  T* const dx = static_cast<T*>(dx_raw);
  std::fill_n(dx, s.in_height * s.in_width * s.channels, T{});
  ForEachResult(s, transform, [&](int64_t result, const Source& from) {
    if (!from.anywhere) return;
    const T* const dy = static_cast<const T*>(dy_raw) + result * s.channels;
    for (int k = 0; k < (s.bilinear ? 4 : 1); ++k) {
      if (from.pixel[k] < 0) continue;
      T* const to = dx + from.pixel[k] * s.channels;
      const A weight = s.bilinear ? A{from.across[k]} * A{from.down[k / 2]} : A{1};
      for (int64_t c = 0; c < s.channels; ++c) {
        to[c] = ConvertTo<T>(ConvertTo<A>(to[c]) + weight * ConvertTo<A>(dy[c]));
      }
    }
  });
}

}  // namespace

ProjectiveKernel FindProjective(DType dtype) {
  ProjectiveKernel kernel = nullptr;
  DispatchDType(dtype, [&]<class T>() { kernel = Projective<T>; });
  return kernel;
}

ProjectiveGradKernel FindProjectiveGrad(DType dtype) {
  switch (dtype) {
    case DType::kFloat:
      return ProjectiveGrad<float>;
    case DType::kDouble:
      return ProjectiveGrad<double>;
    case DType::kBfloat16:
      return ProjectiveGrad<bfloat16>;
    default:
      return nullptr;
  }
}

}  // namespace tpuest
