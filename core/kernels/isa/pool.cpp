#include <algorithm>
#include <bit>
#include <cstring>

#include "core/kernels/isa/isa_kernels.h"
#include "core/tensor/elements.h"

namespace tpuest::TPUEST_ISA {
namespace {

// The order of elements. bfloat16 elements compare as 16-bit integers, 32 at a time: after the
// lower 15 bits of negative numbers are flipped, the bits sort as the values do.
template <class T>
struct Order {
  static T Max(T a, T b) { return b > a || b != b ? b : a; }
  static bool Same(T a, T b) { return a == b; }
  static T Pick(bool pick, T a) { return pick ? a : T(0); }
  static T Relu(T a) { return a <= T(0) ? T(0) : a; }
};

template <>
struct Order<bfloat16> {
  static int16_t Key(bfloat16 a) {
    const auto bits = static_cast<int16_t>(a.bits);
    return static_cast<int16_t>(bits ^ ((bits >> 15) & 0x7FFF));
  }
  static bfloat16 Max(bfloat16 a, bfloat16 b) {
    bfloat16 max;
    max.bits = Key(b) > Key(a) ? b.bits : a.bits;
    return max;
  }
  static bool Same(bfloat16 a, bfloat16 b) { return a.bits == b.bits; }
  static bfloat16 Pick(bool pick, bfloat16 a) {
    bfloat16 picked;
    picked.bits = pick ? a.bits : uint16_t{0};
    return picked;
  }
  static bfloat16 Relu(bfloat16 a) {
    constexpr uint16_t kMinusInfinity = 0xFF80;
    return Pick(a.bits < 0x8000 || a.bits > kMinusInfinity, a);  // larger bits are NaNs
  }
};

template <class T>
T Plus(T a, T b) {
  return ConvertTo<T>(ConvertTo<std::conditional_t<std::is_same_v<T, bfloat16>, float, T>>(a) +
                      ConvertTo<std::conditional_t<std::is_same_v<T, bfloat16>, float, T>>(b));
}

struct Span {
  int64_t begin;
  int64_t end;
};

// The part of the image that window `o` of an axis covers.
Span Covered(const WindowAxis& axis, int64_t o) {
  const int64_t begin = o * axis.stride - axis.before;
  return {std::max<int64_t>(begin, 0), std::min(begin + axis.size, axis.in)};
}

// Calls fn(result pixel, rows, columns, image) for every window.
template <class Fn>
void ForEachWindow(const PoolShape& s, Fn&& fn) {
  int64_t pixel = 0;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t i = 0; i < s.height.out; ++i) {
      const Span rows = Covered(s.height, i);
      for (int64_t j = 0; j < s.width.out; ++j, ++pixel) {
        fn(pixel, rows, Covered(s.width, j), n * s.height.in * s.width.in);
      }
    }
  }
}

// Calls fn(pixel of the image) for each pixel of a window, row by row.
template <class Fn>
void ForEachCell(const PoolShape& s, Span rows, Span columns, int64_t image, Fn&& fn) {
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    for (int64_t j = columns.begin; j < columns.end; ++j) fn(image + i * s.width.in + j);
  }
}

bool IsHalving(const WindowAxis& axis) {
  return axis.size == 2 && axis.stride == 2 && axis.before == 0 && axis.out * 2 == axis.in;
}

// True if 2x2 windows side by side cover the image.
bool IsHalving(const PoolShape& s) { return IsHalving(s.height) && IsHalving(s.width); }

// Calls fn(result pixel, the window's first pixel) for every window of 2x2.
template <class Fn>
void ForEachSquare(const PoolShape& s, Fn&& fn) {
  int64_t pixel = 0;
  for (int64_t row = 0; row < s.batch * s.height.out; ++row) {
    for (int64_t j = 0; j < s.width.out; ++j, ++pixel) fn(pixel, row * 2 * s.width.in + 2 * j);
  }
}

template <class T, bool kRelu>
void MaxOfSquares(const PoolShape& s, const T* x, T* y) {
  const int64_t channels = s.channels;
  const int64_t below = s.width.in * channels;
  ForEachSquare(s, [&](int64_t pixel, int64_t first) {
    const T* const __restrict__ from = x + first * channels;
    T* const __restrict__ to = y + pixel * channels;
    for (int64_t c = 0; c < channels; ++c) {
      const T upper = Order<T>::Max(from[c], from[channels + c]);
      const T lower = Order<T>::Max(from[below + c], from[below + channels + c]);
      const T largest = Order<T>::Max(upper, lower);
      to[c] = kRelu ? Order<T>::Relu(largest) : largest;
    }
  });
}

// Handles one 2x2 window, channel by channel: dy goes to the first of the four elements that equals
// the maximum.
template <class T>
void GradOfSquare(const T* __restrict__ x, const T* __restrict__ max, const T* __restrict__ dy,
                  int64_t channels, int64_t below, T* __restrict__ dx0, T* __restrict__ dx1,
                  T* __restrict__ dx2, T* __restrict__ dx3) {
  for (int64_t c = 0; c < channels; ++c) {
    const bool at0 = Order<T>::Same(x[c], max[c]);
    const bool at1 = Order<T>::Same(x[channels + c], max[c]);
    const bool at2 = Order<T>::Same(x[below + c], max[c]);
    const bool at3 = Order<T>::Same(x[below + channels + c], max[c]);
    // The remainder is dy if no earlier element has taken it, otherwise 0.
    const T rest1 = Order<T>::Pick(!at0, dy[c]);
    const T rest2 = Order<T>::Pick(!at1, rest1);
    const T rest3 = Order<T>::Pick(!at2, rest2);
    dx0[c] = Order<T>::Pick(at0, dy[c]);
    dx1[c] = Order<T>::Pick(at1, rest1);
    dx2[c] = Order<T>::Pick(at2, rest2);
    dx3[c] = Order<T>::Pick(at3, rest3);
  }
}

template <class T>
void MaxGradOfSquares(const PoolShape& s, const T* x, const T* y, const T* dy, T* dx) {
  const int64_t channels = s.channels;
  const int64_t below = s.width.in * channels;
  ForEachSquare(s, [&](int64_t pixel, int64_t first) {
    T* const to = dx + first * channels;
    GradOfSquare(x + first * channels, y + pixel * channels, dy + pixel * channels, channels, below,
                 to, to + channels, to + below, to + below + channels);
  });
}

template <class T, bool kRelu>
void Max(const PoolShape& s, const void* x_raw, void* y_raw) {
  const T* const x = static_cast<const T*>(x_raw);
  T* const y = static_cast<T*>(y_raw);
  if (IsHalving(s)) return MaxOfSquares<T, kRelu>(s, x, y);
  const int64_t channels = s.channels;
  ForEachWindow(s, [&](int64_t pixel, Span rows, Span columns, int64_t image) {
    T* const __restrict__ to = y + pixel * channels;
    const int64_t first = image + rows.begin * s.width.in + columns.begin;
    std::memcpy(to, x + first * channels, static_cast<size_t>(channels) * sizeof(T));
    ForEachCell(s, rows, columns, image, [&](int64_t cell) {
      const T* const __restrict__ from = x + cell * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] = Order<T>::Max(to[c], from[c]);
    });
    if constexpr (kRelu) {
      for (int64_t c = 0; c < channels; ++c) to[c] = Order<T>::Relu(to[c]);
    }
  });
}

// Channels that are processed together, with a record of the dy not yet assigned.
constexpr int64_t kChannels = 256;

// a or 0, selected by bits, because compilers make a branch of such a selection between numbers.
template <class T>
T Masked(bool keep, T a) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    return Order<T>::Pick(keep, a);
  } else {
    using Bits = std::conditional_t<std::is_same_v<T, double>, uint64_t, uint32_t>;
    return std::bit_cast<T>(std::bit_cast<Bits>(a) & (keep ? ~Bits{0} : Bits{0}));
  }
}

// a + 0: -0 becomes 0.
template <class T>
T PlusZero(T a) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    a.bits = a.bits == 0x8000 ? uint16_t{0} : a.bits;
    return a;
  } else {
    return a + T{};
  }
}

// Distributes the dy of one window, cell by cell: the first cell that has the maximum takes all of
// it. kShared: windows overlap, so other windows may add to these cells.
template <class T, bool kShared>
void GradOfWindow(const T* __restrict__ x, const T* __restrict__ max, T* __restrict__ left,
                  int64_t channels, T* __restrict__ dx) {
  for (int64_t c = 0; c < channels; ++c) {
    const bool here = Order<T>::Same(x[c], max[c]);
    const T taken = Masked(here, left[c]);
    dx[c] = kShared ? Plus(dx[c], taken) : PlusZero(taken);
    left[c] = Masked(!here, left[c]);
  }
}

template <class T, bool kShared>
void MaxGradOfWindows(const PoolShape& s, const T* x, const T* y, const T* dy, T* dx) {
  ForEachWindow(s, [&](int64_t pixel, Span rows, Span columns, int64_t image) {
    for (int64_t first = 0; first < s.channels; first += kChannels) {
      const int64_t n = std::min(kChannels, s.channels - first);
      T left[kChannels];
      std::copy_n(dy + pixel * s.channels + first, n, left);
      ForEachCell(s, rows, columns, image, [&](int64_t cell) {
        GradOfWindow<T, kShared>(x + cell * s.channels + first, y + pixel * s.channels + first,
                                 left, n, dx + cell * s.channels + first);
      });
    }
  });
}

bool IsApart(const WindowAxis& axis) { return axis.stride >= axis.size; }
// True if every element of the image is in some window.
bool IsCovered(const WindowAxis& axis) {
  return axis.stride <= axis.size &&
         (axis.out - 1) * axis.stride + axis.size - axis.before >= axis.in;
}

template <class T>
void MaxGrad(const PoolShape& s, const void* x_raw, const void* y_raw, const void* dy_raw,
             void* dx_raw) {
  const T* const x = static_cast<const T*>(x_raw);
  const T* const y = static_cast<const T*>(y_raw);
  const T* const dy = static_cast<const T*>(dy_raw);
  T* const dx = static_cast<T*>(dx_raw);
  if (IsHalving(s)) return MaxGradOfSquares(s, x, y, dy, dx);
  const bool apart = IsApart(s.height) && IsApart(s.width);
  if (!apart || !IsCovered(s.height) || !IsCovered(s.width)) {
    std::fill_n(dx, s.batch * s.height.in * s.width.in * s.channels, T{});
  }
  if (apart) return MaxGradOfWindows<T, false>(s, x, y, dy, dx);
  MaxGradOfWindows<T, true>(s, x, y, dy, dx);
}

template <class T>
void Average(const PoolShape& s, const void* x_raw, void* y_raw) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T* const x = static_cast<const T*>(x_raw);
  T* const y = static_cast<T*>(y_raw);
  ForEachWindow(s, [&](int64_t pixel, Span rows, Span columns, int64_t image) {
    const A count = static_cast<A>((rows.end - rows.begin) * (columns.end - columns.begin));
    for (int64_t first = 0; first < s.channels; first += kChannels) {
      const int64_t n = std::min(kChannels, s.channels - first);
      A sum[kChannels] = {};
      ForEachCell(s, rows, columns, image, [&](int64_t cell) {
        const T* const from = x + cell * s.channels + first;
        for (int64_t c = 0; c < n; ++c) sum[c] += ConvertTo<A>(from[c]);
      });
      T* const to = y + pixel * s.channels + first;
      for (int64_t c = 0; c < n; ++c) to[c] = ConvertTo<T>(sum[c] / count);
    }
  });
}

template <class T>
void AverageGrad(const PoolShape& s, const void* dy_raw, void* dx_raw) {
  using A = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const T* const dy = static_cast<const T*>(dy_raw);
  T* const dx = static_cast<T*>(dx_raw);
  std::fill_n(dx, s.batch * s.height.in * s.width.in * s.channels, T{});
  ForEachWindow(s, [&](int64_t pixel, Span rows, Span columns, int64_t image) {
    const A count = static_cast<A>((rows.end - rows.begin) * (columns.end - columns.begin));
    const T* const d = dy + pixel * s.channels;
    ForEachCell(s, rows, columns, image, [&](int64_t cell) {
      T* const to = dx + cell * s.channels;
      for (int64_t c = 0; c < s.channels; ++c) {
        to[c] = ConvertTo<T>(ConvertTo<A>(to[c]) + ConvertTo<A>(d[c]) / count);
      }
    });
  });
}

template <class T>
constexpr PoolKernels kPoolKernels = {Max<T, false>, Max<T, true>, MaxGrad<T>, Average<T>,
                                      AverageGrad<T>};

}  // namespace

PoolKernels FindPool(DType dtype) {
  switch (dtype) {
    case DType::kBfloat16:
      return kPoolKernels<bfloat16>;
    case DType::kFloat:
      return kPoolKernels<float>;
    case DType::kDouble:
      return kPoolKernels<double>;
    default:
      return {};
  }
}

}  // namespace tpuest::TPUEST_ISA
