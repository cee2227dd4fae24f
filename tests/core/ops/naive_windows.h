#pragma once
// Computes convolution and pooling by their definition, index by index.

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace tpuest {

// The positions of a window over height and width.
struct NaiveWindow {
  std::vector<int64_t> size;
  std::vector<int64_t> strides = {1, 1};
  std::vector<int64_t> dilations = {1, 1};
  std::string padding = "SAME";
  std::vector<int64_t> explicit_paddings;  // EXPLICIT: top, bottom, left, right
};

// The number of results of a window over `in` elements: axis 0 is height, 1 is width.
[[nodiscard]] int64_t NaiveOut(const NaiveWindow& window, int axis, int64_t in);
// The element of the image under tap `k` of result `out`; -1 for padding.
[[nodiscard]] int64_t NaiveAt(const NaiveWindow& window, int axis, int64_t in, int64_t out,
                              int64_t k);

// A convolution is a sum of products: y[y] += x[x] * filter[filter] for every term. Its gradients
// are the same terms with the roles changed.
struct NaiveConv {
  struct Term {
    int64_t x;
    int64_t filter;
    int64_t y;
  };
  Shape x_shape;
  Shape filter_shape;
  Shape y_shape;
  std::vector<Term> terms;

  // x [N, H, W, C], filter [kh, kw, C or C / groups, F], or [kh, kw, C, M] if depthwise.
  NaiveConv(const Shape& x, const Shape& filter, const NaiveWindow& window, bool depthwise);

  // Tensors are float; sums are computed in double.
  [[nodiscard]] Tensor Forward(const Tensor& x, const Tensor& filter) const;
  [[nodiscard]] Tensor InputGrad(const Tensor& filter, const Tensor& dy) const;
  [[nodiscard]] Tensor FilterGrad(const Tensor& x, const Tensor& dy) const;
};

// The elements of the image in the window of each result, in order.
struct NaivePool {
  Shape x_shape;
  Shape y_shape;
  std::vector<std::vector<int64_t>> taken;  // indices into x by element of y

  NaivePool(const Shape& x, const NaiveWindow& window);

  [[nodiscard]] Tensor Max(const Tensor& x) const;
  [[nodiscard]] Tensor MaxGrad(const Tensor& x, const Tensor& dy) const;  // to the first maximum
  [[nodiscard]] Tensor Average(const Tensor& x) const;
  [[nodiscard]] Tensor AverageGrad(const Tensor& dy) const;
};

}  // namespace tpuest
