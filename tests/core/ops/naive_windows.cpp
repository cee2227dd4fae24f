#include "tests/core/ops/naive_windows.h"

#include <algorithm>
#include <functional>

namespace tpuest {
namespace {

size_t At(int64_t index) { return static_cast<size_t>(index); }

int64_t Span(const NaiveWindow& window, int axis) {
  return (window.size[At(axis)] - 1) * window.dilations[At(axis)] + 1;
}

// Padding before the image.
int64_t Before(const NaiveWindow& window, int axis, int64_t in) {
  if (window.padding == "VALID") return 0;
  if (window.padding == "EXPLICIT") return window.explicit_paddings[At(2 * axis)];
  const int64_t last = (NaiveOut(window, axis, in) - 1) * window.strides[At(axis)];
  return std::max<int64_t>(last + Span(window, axis) - in, 0) / 2;
}

Tensor Rounded(const Shape& shape, const std::vector<double>& sums) {
  Tensor tensor(DType::kFloat, shape);
  for (size_t i = 0; i < sums.size(); ++i) tensor.data<float>()[i] = static_cast<float>(sums[i]);
  return tensor;
}

std::vector<double> Zeros(const Shape& shape) {
  return std::vector<double>(static_cast<size_t>(shape.elements()), 0.0);
}

// Calls fn(n, i, j) for each pixel of [N, H, W, ..].
void ForEachPixel(const Shape& shape, const std::function<void(int64_t, int64_t, int64_t)>& fn) {
  for (int64_t n = 0; n < shape.dim(0); ++n) {
    for (int64_t i = 0; i < shape.dim(1); ++i) {
      for (int64_t j = 0; j < shape.dim(2); ++j) fn(n, i, j);
    }
  }
}

// Calls fn(row, column, tap row, tap column) for each pixel in the window of result (i, j).
void ForEachCovered(const NaiveWindow& window, const Shape& x, int64_t i, int64_t j,
                    const std::function<void(int64_t, int64_t, int64_t, int64_t)>& fn) {
  for (int64_t a = 0; a < window.size[0]; ++a) {
    for (int64_t b = 0; b < window.size[1]; ++b) {
      const int64_t row = NaiveAt(window, 0, x.dim(1), i, a);
      const int64_t column = NaiveAt(window, 1, x.dim(2), j, b);
      if (row >= 0 && column >= 0) fn(row, column, a, b);
    }
  }
}

int64_t Index(const Shape& shape, int64_t a, int64_t b, int64_t c, int64_t d) {
  return ((a * shape.dim(1) + b) * shape.dim(2) + c) * shape.dim(3) + d;
}

}  // namespace

int64_t NaiveOut(const NaiveWindow& window, int axis, int64_t in) {
  const int64_t stride = window.strides[At(axis)];
  if (window.padding == "SAME") return (in + stride - 1) / stride;
  int64_t padded = in;
  if (window.padding == "EXPLICIT") {
    padded += window.explicit_paddings[At(2 * axis)] + window.explicit_paddings[At(2 * axis + 1)];
  }
  return (padded - Span(window, axis) + stride) / stride;
}

int64_t NaiveAt(const NaiveWindow& window, int axis, int64_t in, int64_t out, int64_t k) {
  const int64_t at =
      out * window.strides[At(axis)] + k * window.dilations[At(axis)] - Before(window, axis, in);
  return at < in ? std::max<int64_t>(at, -1) : -1;
}

NaiveConv::NaiveConv(const Shape& x, const Shape& filter, const NaiveWindow& window, bool depthwise)
    : x_shape(x), filter_shape(filter) {
  const int64_t channels = filter.dim(2);
  const int64_t last = filter.dim(3);
  y_shape = {x.dim(0), NaiveOut(window, 0, x.dim(1)), NaiveOut(window, 1, x.dim(2)),
             depthwise ? channels * last : last};
  // Each group has equally many results, computed from its own channels.
  const int64_t in_group = depthwise ? 1 : last * channels / x.dim(3);
  ForEachPixel(y_shape, [&](int64_t n, int64_t i, int64_t j) {
    ForEachCovered(window, x, i, j, [&](int64_t row, int64_t column, int64_t a, int64_t b) {
      for (int64_t c = 0; c < channels; ++c) {
        for (int64_t f = 0; f < last; ++f) {
          const int64_t channel = depthwise ? c : f / in_group * channels + c;
          terms.push_back({Index(x_shape, n, row, column, channel), Index(filter_shape, a, b, c, f),
                           Index(y_shape, n, i, j, depthwise ? c * last + f : f)});
        }
      }
    });
  });
}

Tensor NaiveConv::Forward(const Tensor& x, const Tensor& filter) const {
  std::vector<double> y = Zeros(y_shape);
  for (const Term& t : terms) y[At(t.y)] += x.AsDouble(t.x) * filter.AsDouble(t.filter);
  return Rounded(y_shape, y);
}

Tensor NaiveConv::InputGrad(const Tensor& filter, const Tensor& dy) const {
  std::vector<double> dx = Zeros(x_shape);
  for (const Term& t : terms) dx[At(t.x)] += dy.AsDouble(t.y) * filter.AsDouble(t.filter);
  return Rounded(x_shape, dx);
}

Tensor NaiveConv::FilterGrad(const Tensor& x, const Tensor& dy) const {
  std::vector<double> dfilter = Zeros(filter_shape);
  for (const Term& t : terms) dfilter[At(t.filter)] += dy.AsDouble(t.y) * x.AsDouble(t.x);
  return Rounded(filter_shape, dfilter);
}

NaivePool::NaivePool(const Shape& x, const NaiveWindow& window) : x_shape(x) {
  y_shape = {x.dim(0), NaiveOut(window, 0, x.dim(1)), NaiveOut(window, 1, x.dim(2)), x.dim(3)};
  ForEachPixel(y_shape, [&](int64_t n, int64_t i, int64_t j) {
    for (int64_t c = 0; c < x.dim(3); ++c) {
      std::vector<int64_t>& from = taken.emplace_back();
      ForEachCovered(window, x, i, j, [&](int64_t row, int64_t column, int64_t, int64_t) {
        from.push_back(Index(x_shape, n, row, column, c));
      });
    }
  });
}

namespace {

int64_t FirstLargest(const Tensor& x, const std::vector<int64_t>& from) {
  return *std::max_element(from.begin(), from.end(),
                           [&](int64_t a, int64_t b) { return x.AsDouble(a) < x.AsDouble(b); });
}

}  // namespace

Tensor NaivePool::Max(const Tensor& x) const {
  std::vector<double> y = Zeros(y_shape);
  for (size_t i = 0; i < y.size(); ++i) y[i] = x.AsDouble(FirstLargest(x, taken[i]));
  return Rounded(y_shape, y);
}

Tensor NaivePool::MaxGrad(const Tensor& x, const Tensor& dy) const {
  std::vector<double> dx = Zeros(x_shape);
  for (size_t i = 0; i < taken.size(); ++i) {
    dx[static_cast<size_t>(FirstLargest(x, taken[i]))] += dy.AsDouble(static_cast<int64_t>(i));
  }
  return Rounded(x_shape, dx);
}

Tensor NaivePool::Average(const Tensor& x) const {
  std::vector<double> y = Zeros(y_shape);
  for (size_t i = 0; i < y.size(); ++i) {
    for (const int64_t at : taken[i]) y[i] += x.AsDouble(at) / static_cast<double>(taken[i].size());
  }
  return Rounded(y_shape, y);
}

Tensor NaivePool::AverageGrad(const Tensor& dy) const {
  std::vector<double> dx = Zeros(x_shape);
  for (size_t i = 0; i < taken.size(); ++i) {
    const double part = dy.AsDouble(static_cast<int64_t>(i)) / static_cast<double>(taken[i].size());
    for (const int64_t at : taken[i]) dx[static_cast<size_t>(at)] += part;
  }
  return Rounded(x_shape, dx);
}

}  // namespace tpuest
