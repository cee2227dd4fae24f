#include "core/kernels/isa/depthwise.h"

#include <algorithm>
#include <cstring>

#include "core/kernels/isa/isa_vector.h"

namespace tpuest::TPUEST_ISA {
namespace {

// A position of a window along one axis: the offsets of its source and of its filter for channel 0.
struct Place {
  int64_t from = 0;
  int64_t filter = 0;
};

struct Places {
  Place at[kMaxDepthwiseSize];
  int64_t count = 0;
};

// Strides along an axis of the source and of the filter, in elements.
struct Steps {
  int64_t from = 0;
  int64_t filter = 0;
};

// The positions in the image of the window of result element o.
Places PlacesInImage(const WindowAxis& axis, const Steps& steps, int64_t o) {
  Places places;
  for (int64_t k = 0; k < axis.size; ++k) {
    const int64_t i = o * axis.stride - axis.before + k * axis.dilation;
    if (i >= 0 && i < axis.in) places.at[places.count++] = {i * steps.from, k * steps.filter};
  }
  return places;
}

// The positions in the result whose windows cover image element i.
Places PlacesInResult(const WindowAxis& axis, const Steps& steps, int64_t i) {
  Places places;
  for (int64_t k = 0; k < axis.size; ++k) {
    const int64_t from = i + axis.before - k * axis.dilation;
    if (from < 0 || (axis.stride != 1 && from % axis.stride != 0)) continue;
    const int64_t o = axis.stride == 1 ? from : from / axis.stride;
    if (o < axis.out) places.at[places.count++] = {o * steps.from, k * steps.filter};
  }
  return places;
}

// to = sum of from * filter over the window, for kVectors vectors at once.
template <int kVectors, class How, class T>
void GatherLanes(const T* from, const float* filter, const Places& rows, const Places& columns,
                 How how, T* to) {
  FloatVector sums[kVectors] = {};
  for (int64_t i = 0; i < rows.count; ++i) {
    const T* const from_row = from + rows.at[i].from;
    const float* const filter_row = filter + rows.at[i].filter;
    for (int64_t j = 0; j < columns.count; ++j) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        FloatVector numbers;
        FloatVector factors;
        Load(from_row + columns.at[j].from + v * kVectorLanes, how, numbers);
        Load(filter_row + columns.at[j].filter + v * kVectorLanes, how, factors);
        sums[v] += numbers * factors;
      }
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) Store(sums[v], how, to + v * kVectorLanes);
}

template <class T>
void GatherPixel(const T* from, const float* filter, const Places& rows, const Places& columns,
                 int64_t channels, T* to) {
  const WholeVector whole;
  int64_t c = 0;
  for (; c + 4 * kVectorLanes <= channels; c += 4 * kVectorLanes) {
    GatherLanes<4>(from + c, filter + c, rows, columns, whole, to + c);
  }
  for (; c + 2 * kVectorLanes <= channels; c += 2 * kVectorLanes) {
    GatherLanes<2>(from + c, filter + c, rows, columns, whole, to + c);
  }
  if (c + kVectorLanes <= channels) {
    GatherLanes<1>(from + c, filter + c, rows, columns, whole, to + c);
    c += kVectorLanes;
  }
  if (c < channels) {
    GatherLanes<1>(from + c, filter + c, rows, columns, PartOfVector{channels - c}, to + c);
  }
}

struct Extent {
  int64_t rows;
  int64_t columns;
};

// Computes every pixel of `to` [N, rows, columns, C] from the pixels of `from` at its positions.
template <class T, class FindPlaces>
void GatherImages(const ConvShape& s, const T* from, Extent from_extent, const float* filter, T* to,
                  Extent to_extent, FindPlaces&& places_of) {
  const int64_t channels = s.channels;
  const Steps by_row = {from_extent.columns * channels, s.width.size * channels};
  for (int64_t n = 0; n < s.batch; ++n, from += from_extent.rows * by_row.from) {
    for (int64_t i = 0; i < to_extent.rows; ++i) {
      const Places rows = places_of(s.height, by_row, i);
      for (int64_t j = 0; j < to_extent.columns; ++j, to += channels) {
        const Places columns = places_of(s.width, Steps{channels, channels}, j);
        GatherPixel(from, filter, rows, columns, channels, to);
      }
    }
  }
}

template <class T>
void DepthwiseForward(const ConvShape& s, const void* x, const float* filter, void* y) {
  GatherImages(s, static_cast<const T*>(x), {s.height.in, s.width.in}, filter, static_cast<T*>(y),
               {s.height.out, s.width.out}, PlacesInImage);
}

template <class T>
void DepthwiseBackwardData(const ConvShape& s, const void* dy, const float* filter, void* dx) {
  GatherImages(s, static_cast<const T*>(dy), {s.height.out, s.width.out}, filter,
               static_cast<T*>(dx), {s.height.in, s.width.in}, PlacesInResult);
}

// Pixels of a row of the result, and the pixels of the image by which they are multiplied.
template <class T>
struct RowPair {
  const T* x = nullptr;
  const T* dy = nullptr;
  int64_t pixels = 0;
  int64_t x_step = 0;  // distance between pixels
  int64_t dy_step = 0;
};

// totals += sum of x * dy over the pixels.
template <int kVectors, class How, class T>
void AddProducts(const RowPair<T>& row, int64_t channel, How how, double* totals) {
  FloatVector sums[kVectors] = {};
  for (int64_t p = 0; p < row.pixels; ++p) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      FloatVector x;
      FloatVector dy;
      Load(row.x + p * row.x_step + channel + v * kVectorLanes, how, x);
      Load(row.dy + p * row.dy_step + channel + v * kVectorLanes, how, dy);
      sums[v] += x * dy;
    }
  }
  int64_t n = kVectors * kVectorLanes;
  if constexpr (std::is_same_v<How, PartOfVector>) n = how.lanes;
  float all[kVectors * kVectorLanes];
  std::memcpy(all, sums, sizeof(all));
  for (int64_t l = 0; l < n; ++l) totals[channel + l] += static_cast<double>(all[l]);
}

template <class T>
void AddRow(const RowPair<T>& row, int64_t channels, double* totals) {
  const WholeVector whole;
  int64_t c = 0;
  for (; c + 4 * kVectorLanes <= channels; c += 4 * kVectorLanes) {
    AddProducts<4>(row, c, whole, totals);
  }
  for (; c + kVectorLanes <= channels; c += kVectorLanes) AddProducts<1>(row, c, whole, totals);
  if (c < channels) AddProducts<1>(row, c, PartOfVector{channels - c}, totals);
}

// The elements of the result whose window position k lies in the image.
struct Stretch {
  int64_t first;
  int64_t end;
};

Stretch Covering(const WindowAxis& axis, int64_t k) {
  const int64_t shift = k * axis.dilation - axis.before;  // image = o * stride + shift
  const int64_t first = shift >= 0 ? 0 : (-shift + axis.stride - 1) / axis.stride;
  const int64_t last = axis.in - 1 - shift;  // the largest o * stride
  return {first, last < 0 ? 0 : std::min(axis.out, last / axis.stride + 1)};
}

template <class T>
void DepthwiseBackwardFilter(const ConvShape& s, const void* x_raw, const void* dy_raw,
                             float* dfilter, double* totals) {
  const T* const x = static_cast<const T*>(x_raw);
  const T* const dy = static_cast<const T*>(dy_raw);
  const int64_t channels = s.channels;
  const int64_t numbers = s.height.size * s.width.size * channels;
  std::fill_n(totals, numbers, 0.0);
  const Steps by_row = {s.width.in * channels, s.width.size * channels};
  for (int64_t row = 0; row < s.batch * s.height.out; ++row) {
    const T* const image = x + row / s.height.out * s.height.in * by_row.from;
    const T* const dy_row = dy + row * s.width.out * channels;
    const Places rows = PlacesInImage(s.height, by_row, row % s.height.out);
    for (int64_t i = 0; i < rows.count; ++i) {
      for (int64_t l = 0; l < s.width.size; ++l) {
        const auto [first, end] = Covering(s.width, l);
        if (first >= end) continue;
        const int64_t at = first * s.width.stride - s.width.before + l * s.width.dilation;
        AddRow<T>({image + rows.at[i].from + at * channels, dy_row + first * channels, end - first,
                   s.width.stride * channels, channels},
                  channels, totals + rows.at[i].filter + l * channels);
      }
    }
  }
  for (int64_t i = 0; i < numbers; ++i) dfilter[i] = static_cast<float>(totals[i]);
}

template <class T>
constexpr DepthwiseKernels kDepthwise = {DepthwiseForward<T>, DepthwiseBackwardData<T>,
                                         DepthwiseBackwardFilter<T>};

}  // namespace

DepthwiseKernels FindDepthwise(DType dtype) {
  if (dtype == DType::kBfloat16) return kDepthwise<bfloat16>;
  if (dtype == DType::kFloat) return kDepthwise<float>;
  return {};
}

}  // namespace tpuest::TPUEST_ISA
