// Pooling and its gradients, compared with their definition, and with TensorFlow's numbers for
// equal maxima.

#include "core/ops/activation.h"
#include "core/ops/array.h"
#include "core/ops/pool.h"
#include "tests/core/ops/naive_windows.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

ops::PoolOptions OptionsOf(const NaiveWindow& window) {
  return {.ksize = window.size, .strides = window.strides, .padding = window.padding};
}

Value AvgPoolGrad(Value x, Value dy, const NaiveWindow& w) {
  return dy.graph().Add("AvgPoolGrad", {ops::ShapeOf(x), dy},
                        {{"ksize", std::vector<int64_t>{1, w.size[0], w.size[1], 1}},
                         {"strides", std::vector<int64_t>{1, w.strides[0], w.strides[1], 1}},
                         {"padding", w.padding}});
}

// Forward ops take x; the rows of gradients take x and dy, and compute the maxima themselves.
OpCase Row(const std::string& op, std::string claim, std::vector<Tensor> inputs,
           const NaiveWindow& window, Tensor expected) {
  OpCase op_case{.op = op,
                 .claim = std::move(claim),
                 .inputs = std::move(inputs),
                 .expected = {std::move(expected)},
                 .batch = {0}};
  if (op_case.inputs.size() == 2) op_case.batch.push_back(1);
  op_case.build = [op, window](Graph&, const In& in) {
    const ops::PoolOptions options = OptionsOf(window);
    if (op == "MaxPool") return Built{{ops::MaxPool(in[0], options)}, {}};
    if (op == "AvgPool") return Built{{ops::AvgPool(in[0], options)}, {}};
    if (op == "AvgPoolGrad") return Built{{AvgPoolGrad(in[0], in[1], window)}, {}};
    const Value y = ops::MaxPool(in[0], options);
    return Built{{ops::MaxPoolGrad(in[0], y, in[1], options)}, {}};
  };
  return op_case;
}

std::vector<OpCase> RowsOf(const std::string& claim, const Shape& shape,
                           const NaiveWindow& window) {
  const NaivePool naive(shape, window);
  const Tensor x = Wave(shape, 1, -0.5F);
  const Tensor dy = Wave(naive.y_shape, 1, 0.3F);
  return {Row("MaxPool", claim, {x}, window, naive.Max(x)),
          Row("AvgPool", claim, {x}, window, naive.Average(x)),
          Row("MaxPoolGrad", claim, {x, dy}, window, naive.MaxGrad(x, dy)),
          Row("AvgPoolGrad", claim, {x, dy}, window, naive.AverageGrad(dy))};
}

// 1 5 3
// 5 5 2
// 0 7 4
std::vector<OpCase> Ties(const std::string& claim, const NaiveWindow& window,
                         const std::vector<float>& max, const std::vector<float>& average,
                         const std::vector<float>& max_grad,
                         const std::vector<float>& average_grad) {
  const Shape nine{1, 3, 3, 1};
  const Shape four{1, 2, 2, 1};
  const Tensor x = Floats(nine, {1, 5, 3, 5, 5, 2, 0, 7, 4});
  const Tensor dy = Floats(four, {1, 2, 3, 4});
  std::vector<OpCase> rows = {
      Row("MaxPool", claim, {x}, window, Floats(four, max)),
      Row("AvgPool", claim, {x}, window, Floats(four, average)),
      Row("MaxPoolGrad", claim, {x, dy}, window, Floats(nine, max_grad)),
      Row("AvgPoolGrad", claim, {x, dy}, window, Floats(nine, average_grad))};
  rows[0].numeric_gradient = false;  // a tie is a kink
  return rows;
}

std::vector<OpCase> TiedRows() {
  const std::vector<float> average_grad = {0.25F, 0.75F, 0.5F, 1, 2.5F, 1.5F, 0.75F, 1.75F, 1};
  std::vector<OpCase> all =
      Ties("TensorFlow's, 2x2 by 1", {.size = {2, 2}, .padding = "VALID"}, {5, 5, 7, 7},
           {4, 3.75F, 4.25F, 4.5F}, {0, 3, 0, 0, 0, 0, 0, 7, 0}, average_grad);
  for (OpCase& row : Ties("TensorFlow's, 2x2 by 2", {.size = {2, 2}, .strides = {2, 2}},
                          {5, 3, 7, 4}, {4, 2.5F, 3.5F, 4}, {0, 1, 2, 0, 0, 0, 0, 3, 4},
                          {0.25F, 0.25F, 1, 0.25F, 0.25F, 1, 1.5F, 1.5F, 4})) {
    all.push_back(std::move(row));
  }
  for (OpCase& row :
       Ties("TensorFlow's, 3x3 by 2", {.size = {3, 3}, .strides = {2, 2}}, {5, 5, 7, 7},
            {4, 3.75F, 4.25F, 4.5F}, {0, 3, 0, 0, 0, 0, 0, 7, 0}, average_grad)) {
    all.push_back(std::move(row));
  }
  return all;
}

// 1 5 | 3 2
// 5 5 | 2 2
// 0 5 | 4 1
OpCase TiesApart() {
  const NaiveWindow window{.size = {3, 3}, .strides = {3, 3}, .padding = "SAME"};
  return Row(
      "MaxPoolGrad", "the first of equals, windows side by side",
      {Floats({1, 3, 4, 1}, {1, 5, 3, 2, 5, 5, 2, 2, 0, 5, 4, 1}), Floats({1, 1, 2, 1}, {7, 9})},
      window, Floats({1, 3, 4, 1}, {0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0}));
}

// Sequences of ops as in layers, which the engine may reorder.
OpCase Activated() {
  return {.op = "MaxPool",
          .claim = "of ReLU",
          .inputs = {Wave({3, 6, 4, 5})},
          .build =
              [](Graph&, const In& in) {
                return Built{{ops::MaxPool(ops::Relu(in[0]))}, {}};
              },
          .batch = {0}};
}

}  // namespace

std::vector<OpCase> PoolCases() {
  std::vector<OpCase> all = TiedRows();
  all.push_back(Activated());
  all.push_back(TiesApart());
  const auto add = [&](const std::string& claim, const Shape& shape, const NaiveWindow& window) {
    for (OpCase& row : RowsOf(claim, shape, window)) all.push_back(std::move(row));
  };
  add("squares side by side", {3, 4, 6, 3},
      {.size = {2, 2}, .strides = {2, 2}, .padding = "VALID"});
  add("squares, of odd sizes", {3, 5, 7, 3},
      {.size = {2, 2}, .strides = {2, 2}, .padding = "VALID"});
  add("windows of 3x4 side by side", {3, 6, 8, 3},
      {.size = {3, 4}, .strides = {3, 4}, .padding = "VALID"});
  add("more channels than are looked at together", {1, 3, 3, 300},
      {.size = {3, 3}, .strides = {3, 3}, .padding = "VALID"});
  add("SAME over odd sizes", {3, 5, 7, 2}, {.size = {2, 2}, .strides = {2, 2}});
  add("overlapping", {3, 5, 6, 2}, {.size = {3, 3}, .strides = {2, 2}});
  add("by one", {3, 4, 5, 2}, {.size = {2, 3}, .strides = {1, 1}, .padding = "VALID"});
  add("larger than the image", {3, 2, 3, 2}, {.size = {4, 5}, .strides = {1, 2}});
  add("with gaps", {3, 7, 7, 2}, {.size = {1, 2}, .strides = {3, 3}, .padding = "VALID"});
  return all;
}

}  // namespace tpuest
