#include "core/kernels/conv_plain.h"

#include <algorithm>

namespace tpuest {
namespace {

// Calls fn(x offset, y offset, filter offset), all for channel 0, for every pixel of the result and
// every pixel of its window that lies in the image.
template <class Fn>
void ForEachTap(const ConvShape& s, Fn&& fn) {
  const WindowAxis& h = s.height;
  const WindowAxis& w = s.width;
  const int64_t filter_size = s.filters * (s.depthwise ? 1 : s.channels / s.groups);
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t pixel = 0; pixel < h.out * w.out; ++pixel) {
      const int64_t y = (n * h.out * w.out + pixel) * s.filters;
      for (int64_t tap = 0; tap < h.size * w.size; ++tap) {
        const int64_t i = pixel / w.out * h.stride - h.before + tap / w.size * h.dilation;
        const int64_t j = pixel % w.out * w.stride - w.before + tap % w.size * w.dilation;
        if (i < 0 || i >= h.in || j < 0 || j >= w.in) continue;
        fn(((n * h.in + i) * w.in + j) * s.channels, y, tap * filter_size);
      }
    }
  }
}

// Calls fn(channel, result channel, offset into the tap's filter) for each product of a tap.
template <class Fn>
void ForEachProduct(const ConvShape& s, Fn&& fn) {
  if (s.depthwise) {
    const int64_t multiplier = s.filters / s.channels;
    for (int64_t f = 0; f < s.filters; ++f) fn(f / multiplier, f, f);
    return;
  }
  const int64_t group_channels = s.channels / s.groups;
  const int64_t group_filters = s.filters / s.groups;
  for (int64_t c = 0; c < group_channels; ++c) {
    for (int64_t f = 0; f < s.filters; ++f) {
      fn(f / group_filters * group_channels + c, f, c * s.filters + f);
    }
  }
}

int64_t InElements(const ConvShape& s) { return s.batch * s.height.in * s.width.in * s.channels; }

int64_t OutElements(const ConvShape& s) { return s.batch * s.height.out * s.width.out * s.filters; }

int64_t FilterElements(const ConvShape& s) {
  return s.height.size * s.width.size * s.filters * (s.depthwise ? 1 : s.channels / s.groups);
}

}  // namespace

template <class T>
void PlainConvForward(const ConvShape& shape, const T* x, const T* filter, const T* bias, bool relu,
                      T* y) {
  const int64_t elements = OutElements(shape);
  for (int64_t i = 0; i < elements; ++i) y[i] = bias == nullptr ? T(0) : bias[i % shape.filters];
  ForEachTap(shape, [&](int64_t x0, int64_t y0, int64_t filter0) {
    ForEachProduct(shape, [&](int64_t c, int64_t f, int64_t k) {
      y[y0 + f] += x[x0 + c] * filter[filter0 + k];
    });
  });
  if (!relu) return;
  for (int64_t i = 0; i < elements; ++i) y[i] = y[i] > T(0) ? y[i] : T(0);
}

template <class T>
void PlainConvBackwardData(const ConvShape& shape, const T* dy, const T* filter, T* dx) {
  std::fill_n(dx, InElements(shape), T(0));
  ForEachTap(shape, [&](int64_t x0, int64_t y0, int64_t filter0) {
    ForEachProduct(shape, [&](int64_t c, int64_t f, int64_t k) {
      dx[x0 + c] += dy[y0 + f] * filter[filter0 + k];
    });
  });
}

template <class T>
void PlainConvBackwardFilter(const ConvShape& shape, const T* x, const T* dy, T* dfilter) {
  std::fill_n(dfilter, FilterElements(shape), T(0));
  ForEachTap(shape, [&](int64_t x0, int64_t y0, int64_t filter0) {
    ForEachProduct(shape, [&](int64_t c, int64_t f, int64_t k) {
      dfilter[filter0 + k] += dy[y0 + f] * x[x0 + c];
    });
  });
}

template void PlainConvForward(const ConvShape&, const float*, const float*, const float*, bool,
                               float*);
template void PlainConvForward(const ConvShape&, const double*, const double*, const double*, bool,
                               double*);
template void PlainConvBackwardData(const ConvShape&, const float*, const float*, float*);
template void PlainConvBackwardData(const ConvShape&, const double*, const double*, double*);
template void PlainConvBackwardFilter(const ConvShape&, const float*, const float*, float*);
template void PlainConvBackwardFilter(const ConvShape&, const double*, const double*, double*);

}  // namespace tpuest
