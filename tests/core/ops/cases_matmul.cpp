// Products of matrices compared with their definition, and biases.

#include "core/ops/activation.h"
#include "core/ops/bias.h"
#include "core/ops/matmul.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {
namespace {

using In = std::vector<Value>;

// An operand that may be stored transposed.
class Matrix {
 public:
  Matrix(const Tensor& tensor, bool transposed) : tensor_(tensor), transposed_(transposed) {}
  [[nodiscard]] int64_t rows() const { return tensor_.shape().dim(transposed_ ? 1 : 0); }
  [[nodiscard]] int64_t columns() const { return tensor_.shape().dim(transposed_ ? 0 : 1); }
  [[nodiscard]] double operator()(int64_t row, int64_t column) const {
    const int64_t width = tensor_.shape().dim(1);
    return tensor_.AsDouble(transposed_ ? column * width + row : row * width + column);
  }

 private:
  const Tensor& tensor_;
  bool transposed_;
};

// For AVX2, oneDNN sums the remainders at the edges of its tiles in another order, so a row's last
// bit depends on the number of rows. (Blocks have the same rows in every run.)
constexpr double kProductTolerance = 3e-6;

Tensor Product(const Matrix& a, const Matrix& b) {
  std::vector<float> y;
  for (int64_t i = 0; i < a.rows(); ++i) {
    for (int64_t j = 0; j < b.columns(); ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.columns(); ++k) sum += a(i, k) * b(k, j);
      y.push_back(static_cast<float>(sum));
    }
  }
  return Floats({a.rows(), b.columns()}, y);
}

struct Sizes {
  int64_t rows;
  int64_t inner;
  int64_t columns;
};

OpCase Multiply(std::string claim, const Sizes& n, const ops::MatMulOptions& options) {
  const auto [ta, tb] = options;
  const Tensor a = Wave(ta ? Shape{n.inner, n.rows} : Shape{n.rows, n.inner}, 1, 0.1F);
  const Tensor b = Wave(tb ? Shape{n.columns, n.inner} : Shape{n.inner, n.columns}, 0.5F, -0.1F);
  OpCase op_case{.op = "MatMul",
                 .claim = std::move(claim),
                 .inputs = {a, b},
                 .build =
                     [options](Graph&, const In& in) {
                       return Built{{ops::MatMul(in[0], in[1], options)}, {}};
                     },
                 .expected = {Product(Matrix(a, ta), Matrix(b, tb))}};
  op_case.tolerance = kProductTolerance;
  op_case.rows_tolerance = kProductTolerance;
  // Rows of the batch are rows of the result, or are summed.
  if (!ta) {
    op_case.batch = {0};
  } else if (!tb) {
    op_case.batch = {0, 1};
    op_case.sums_rows = true;
  }
  return op_case;
}

std::vector<OpCase> ProductCases() {
  std::vector<OpCase> cases;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const std::string claim = std::string(ta ? "a' " : "a ") + (tb ? "b'" : "b");
      const ops::MatMulOptions options{.transpose_a = ta, .transpose_b = tb};
      cases.push_back(Multiply(claim, {3, 5, 4}, options));
      cases.push_back(Multiply("large " + claim, {33, 70, 65}, options));
      cases.back().numeric_gradient = false;  // 7000 slopes
    }
  }
  cases.push_back(Multiply("a row", {1, 5, 4}, {}));
  cases.push_back(Multiply("a column", {4, 3, 1}, {}));
  cases.push_back(Multiply("one product a result", {4, 1, 3}, {}));
  return cases;
}

// A batch of matrices, each multiplied by its own.
OpCase MultiplyEach(std::string claim, const Sizes& n, const ops::MatMulOptions& options) {
  constexpr int64_t kMatrices = 3;
  const auto [tx, ty] = options;
  const Shape of_x = tx ? Shape{n.inner, n.rows} : Shape{n.rows, n.inner};
  const Shape of_y = ty ? Shape{n.columns, n.inner} : Shape{n.inner, n.columns};
  const Tensor x = Wave({kMatrices, of_x.dim(0), of_x.dim(1)}, 1, 0.1F);
  const Tensor y = Wave({kMatrices, of_y.dim(0), of_y.dim(1)}, 0.5F, -0.1F);
  std::vector<float> expected;
  for (int64_t i = 0; i < kMatrices; ++i) {
    const Tensor a = x.Rows(i, i + 1).Reshaped(of_x).Clone();
    const Tensor b = y.Rows(i, i + 1).Reshaped(of_y).Clone();
    const Tensor product = Product(Matrix(a, tx), Matrix(b, ty));
    const auto count = static_cast<size_t>(product.shape().elements());
    expected.insert(expected.end(), product.data<float>(), product.data<float>() + count);
  }
  return {.op = "BatchMatMulV2",
          .claim = std::move(claim),
          .inputs = {x, y},
          .build =
              [options](Graph&, const In& in) {
                return Built{{ops::BatchMatMulV2(in[0], in[1], options)}, {}};
              },
          .expected = {Floats({kMatrices, n.rows, n.columns}, expected)},
          .batch = {0, 1}};
}

// Sequences of ops as in layers, which the engine may fuse.
OpCase Layer(std::string claim, bool activated) {
  return {.op = "MatMul",
          .claim = std::move(claim),
          .inputs = {Wave({4, 6}), Wave({6, 5}, 0.5F), Wave({5}, 0.5F)},
          .build =
              [activated](Graph&, const In& in) {
                const Value y = ops::BiasAdd(ops::MatMul(in[0], in[1]), in[2]);
                return Built{{activated ? ops::Relu(y) : y}, {}};
              },
          .batch = {0},
          .rows_tolerance = kProductTolerance};
}

OpCase Bias(std::string claim, Tensor x, Tensor bias) {
  return {.op = "BiasAdd",
          .claim = std::move(claim),
          .inputs = {std::move(x), std::move(bias)},
          .build =
              [](Graph&, const In& in) {
                return Built{{ops::BiasAdd(in[0], in[1])}, {}};
              },
          .batch = {0}};
}

OpCase BiasGrad(std::string claim, Tensor dy) {
  return {.op = "BiasAddGrad",
          .claim = std::move(claim),
          .inputs = {std::move(dy)},
          .build =
              [](Graph&, const In& in) {
                return Built{{ops::BiasAddGrad(in[0])}, {}};
              },
          .batch = {0},
          .sums_rows = true};
}

std::vector<OpCase> BiasCases() {
  OpCase add = Bias("known", Floats({2, 3}, {1, 2, 3, 4, 5, 6}), Floats({3}, {10, 20, 30}));
  add.expected = {Floats({2, 3}, {11, 22, 33, 14, 25, 36})};
  OpCase grad = BiasGrad("known", Floats({2, 1, 3}, {1, 2, 3, 4, 5, 6}));
  grad.expected = {Floats({3}, {5, 7, 9})};
  return {add,
          grad,
          Bias("to an image", Wave({3, 2, 2, 5}), Wave({5})),
          Bias("to many channels", Wave({3, 2, 37}), Wave({37})),
          BiasGrad("of an image", Wave({3, 2, 2, 5})),
          BiasGrad("of many channels", Wave({3, 2, 37}))};
}

}  // namespace

std::vector<OpCase> MatMulCases() {
  std::vector<OpCase> all = ProductCases();
  for (const bool tx : {false, true}) {
    for (const bool ty : {false, true}) {
      const std::string claim = std::string(tx ? "x' " : "x ") + (ty ? "y'" : "y");
      all.push_back(MultiplyEach(claim, {3, 5, 4}, {.transpose_a = tx, .transpose_b = ty}));
    }
  }
  all.push_back(MultiplyEach("of rows with themselves", {1, 4, 1}, {.transpose_b = true}));
  all.push_back({.op = "MatMul",
                 .claim = "sums of nothing are zeros",
                 .inputs = {Floats({0, 5}, {}), Floats({0, 4}, {})},
                 .build =
                     [](Graph&, const In& in) {
                       return Built{{ops::MatMul(in[0], in[1], {.transpose_a = true})}, {}};
                     },
                 .expected = {Floats({5, 4}, std::vector<float>(20, 0))},
                 .numeric_gradient = false});
  all.push_back(Layer("with a bias", false));
  all.push_back(Layer("with a bias and ReLU", true));
  for (OpCase& op_case : BiasCases()) all.push_back(std::move(op_case));
  return all;
}

}  // namespace tpuest
