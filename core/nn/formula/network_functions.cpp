// Activations, losses and windows of tf.nn, and products of matrices.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/nn/formula/call.h"
#include "core/nn/losses.h"
#include "core/ops/activation.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
#include "core/ops/pool.h"
#include "core/ops/reduction.h"
#include "core/ops/softmax.h"

namespace tpuest::nn {
namespace {

// Over the last axis; over another it is turned there and back.
template <Value (*op)(Value, std::string_view)>
Operand BuildSoftmax(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  const int axis = a.Axis(1, x, -1);
  const int rank = x.value.shape().rank();
  if (axis == rank - 1) return {Tensored{op(x.value, ""), x.rows}};
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < rank; ++d) perm.push_back(d);
  std::swap(perm[static_cast<size_t>(axis)], perm.back());
  return {Tensored{ops::Transpose(op(ops::Transpose(x.value, perm), ""), perm), x.rows}};
}

Operand BuildLeakyRelu(const Arguments& a) {
  constexpr double kAlpha = 0.2;
  const Tensored x = a.Tensor(0, DType::kFloat);
  return {Tensored{ops::LeakyRelu(x.value, static_cast<float>(a.Number(1, kAlpha))), x.rows}};
}
Operand BuildSwish(const Arguments& a) {
  const Tensored x = a.Tensor(0, DType::kFloat);
  const double beta = a.Number(1, 1);
  const Value inner = beta == 1 ? x.value : ops::Mul(x.value, beta);
  return {Tensored{ops::Mul(x.value, ops::Sigmoid(inner)), x.rows}};
}

constexpr double kSqrtHalf = 0.7071067811865476;
constexpr double kSqrtTwoOverPi = 0.7978845608028654;
constexpr double kCubic = 0.044715;  // Hendrycks & Gimpel 2016

Operand BuildGelu(const Arguments& a) {
  const Tensored x = a.Tensor(0, DType::kFloat);
  const Value half = ops::Mul(x.value, 0.5);
  Value gate;
  if (a.Truth(1, false)) {
    const Value cube = ops::Mul(ops::Mul(ops::Square(x.value), x.value), kCubic);
    gate = ops::Tanh(ops::Mul(ops::AddV2(x.value, cube), kSqrtTwoOverPi));
  } else {
    gate = ops::Erf(ops::Mul(x.value, kSqrtHalf));
  }
  return {Tensored{ops::Mul(half, ops::AddV2(gate, 1.0)), x.rows}};
}
Operand BuildLogSigmoid(const Arguments& a) {
  const Tensored x = a.Tensor(0, DType::kFloat);
  return {Tensored{ops::Neg(ops::Softplus(ops::Neg(x.value))), x.rows}};
}

Operand BuildL2Loss(const Arguments& a) {
  const Tensored x = a.Tensor(0, DType::kFloat);
  const std::vector<int64_t> axes = a.Axes(1, x);
  const Value square = ops::Square(x.value);
  return {Tensored{ops::Mul(axes.empty() ? square : ops::Sum(square, axes), 0.5), x.rows}};
}
Operand BuildL2Normalize(const Arguments& a) {
  constexpr double kEpsilon = 1e-12;
  const Tensored x = a.Tensor(0, DType::kFloat);
  const std::vector<int64_t> axes = a.Axes(1, x);
  const Value square = ops::Square(x.value);
  const Value sum = axes.empty() ? square : ops::Sum(square, axes, true);
  const Value most = ops::Maximum(sum, a.Number(2, kEpsilon));
  return {Tensored{ops::Mul(x.value, ops::Rsqrt(most)), x.rows}};
}

// ---- products of matrices -----------------------------------------------------------------------

// The axes before the last two.
std::vector<int64_t> AheadOf(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end() - 2};
}

bool IsKnown(const std::vector<int64_t>& dims) {
  return std::find(dims.begin(), dims.end(), kUnknownDim) == dims.end();
}

// x with the axes `ahead` before its matrix.
Value Stretched(Value x, const std::vector<int64_t>& ahead) {
  std::vector<int64_t> dims = ahead;
  dims.push_back(x.shape().dim(-2));
  dims.push_back(x.shape().dim(-1));
  return ops::BroadcastTo(x, Shape(dims));
}

// Returns the broadcast batch axes of two products; nullopt if they do not fit.
std::optional<std::vector<int64_t>> Together(std::vector<int64_t> x, std::vector<int64_t> y) {
  const size_t rank = std::max(x.size(), y.size());
  x.insert(x.begin(), rank - x.size(), 1);
  y.insert(y.begin(), rank - y.size(), 1);
  for (size_t i = 0; i < rank; ++i) {
    if (x[i] != y[i] && x[i] != 1 && y[i] != 1) return std::nullopt;
    if (x[i] == 1) x[i] = y[i];
  }
  return x;
}

// Every matrix of x times one: rows of x through one product.
Value TimesOne(Value x, Value matrix, bool transposed) {
  Shape shape = x.shape();
  shape.set_dim(-1, matrix.shape().dim(transposed ? 0 : 1));
  const Value rows = ops::Reshape(x, Shape{kUnknownDim, x.shape().dim(-1)});
  return ops::Reshape(ops::MatMul(rows, matrix, {.transpose_b = transposed}), shape);
}

bool HasOneUnknown(const Shape& shape) {
  return std::count(shape.dims().begin(), shape.dims().end(), kUnknownDim) <= 1;
}

Operand BuildMatMul(const Arguments& a) {
  constexpr size_t kTransposeB = 3;
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  const std::vector<Tensored> t = a.Alike(kBoth);
  const bool rows = t[0].rows || t[1].rows;
  Value x = t[0].value;
  Value y = t[1].value;
  for (const size_t i : kBoth) {
    const Shape& shape = t[i].value.shape();
    if (!shape.known_rank()) a.Fail(i, "the number of its axes is not known");
    if (shape.rank() - (t[i].rows ? 1 : 0) < 2) {
      a.Fail(i, fmt::format("'{}' is {}, expected a matrix or a batch of matrices", a.name(i),
                            shape.Text()));
    }
  }
  const bool of_x = a.Truth(2, false);
  const ops::MatMulOptions options{.transpose_a = of_x, .transpose_b = a.Truth(kTransposeB, false)};
  if (x.shape().rank() == 2 && y.shape().rank() == 2) return {Tensored{ops::MatMul(x, y, options)}};
  const bool is_one = y.shape().rank() == 2 && !of_x && HasOneUnknown(x.shape()) &&
                      x.shape().dim(-1) != kUnknownDim;
  if (is_one) return {Tensored{TimesOne(x, y, options.transpose_b), rows}};
  const std::vector<int64_t> ahead_x = AheadOf(x.shape());
  const std::vector<int64_t> ahead_y = AheadOf(y.shape());
  if (ahead_x != ahead_y) {
    const auto together = Together(ahead_x, ahead_y);
    if (!together) {
      a.Fail(0, fmt::format("{} times {}: the axes before the matrices differ", x.shape().Text(),
                            y.shape().Text()));
    }
    const bool known = IsKnown(*together) && x.shape().fully_known() && y.shape().fully_known();
    if (!known) {
      a.Fail(0, fmt::format("{} times {}: axes that broadcast must have known sizes",
                            x.shape().Text(), y.shape().Text()));
    }
    x = Stretched(x, *together);
    y = Stretched(y, *together);
  }
  return {Tensored{ops::BatchMatMulV2(x, y, options), rows}};
}

// ---- losses -------------------------------------------------------------------------------------

// max(x, 0) - x z + log(1 + exp(-|x|)) of logits x and labels z, of one shape.
Operand BuildSigmoidCrossEntropy(const Arguments& a) {
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  const std::vector<Tensored> t = a.Alike(kBoth);
  const bool fit = t[0].rows == t[1].rows && Compatible(t[0].value.shape(), t[1].value.shape());
  if (!fit) {
    a.Fail(0, fmt::format("labels and logits must have one shape, found {} and {}",
                          t[0].value.shape().Text(), t[1].value.shape().Text()));
  }
  return {Tensored{SigmoidCrossEntropy(t[1].value, t[0].value), t[0].rows}};
}

// x [..., K] as [N, K].
Value AsRows(const Arguments& a, size_t i, Value x) {
  const Shape& shape = x.shape();
  if (shape.rank() == 2) return x;
  if (shape.dim(-1) == kUnknownDim || !HasOneUnknown(shape)) {
    a.Fail(i, fmt::format("'{}' is {}, expected known sizes except for the batch", a.name(i),
                          shape.Text()));
  }
  return ops::Reshape(x, Shape{kUnknownDim, shape.dim(-1)});
}

// Losses [N] in the shape of logits without their classes.
Value InShapeOf(Value losses, const Shape& logits) {
  if (logits.rank() == 2) return losses;
  return ops::Reshape(losses,
                      Shape(std::vector<int64_t>(logits.dims().begin(), logits.dims().end() - 1)));
}

// x with the axis of the classes at the end.
Value ClassesLast(Value x, int axis) {
  const int rank = x.shape().rank();
  if (axis == rank - 1) return x;
  std::vector<int64_t> perm;
  for (int64_t d = 0; d < rank; ++d) {
    if (d != axis) perm.push_back(d);
  }
  perm.push_back(axis);
  return ops::Transpose(x, perm);
}

Operand BuildSoftmaxCrossEntropy(const Arguments& a) {
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  const std::vector<Tensored> t = a.Alike(kBoth);
  const bool rows = t[0].rows || t[1].rows;
  const int axis = a.Axis(2, t[1], -1);
  const Value logits = ClassesLast(t[1].value, axis);
  Value labels = t[0].value;
  const bool alike = labels.shape().known_rank() && labels.shape().rank() == logits.shape().rank();
  if (!alike) {
    a.Fail(0, fmt::format("labels and logits must have one shape, found {} and {}",
                          labels.shape().Text(), logits.shape().Text()));
  }
  labels = ClassesLast(labels, axis);
  const Value losses =
      ops::SoftmaxCrossEntropyWithLogits(AsRows(a, 1, logits), AsRows(a, 0, labels));
  return {Tensored{InShapeOf(losses, logits.shape()), rows}};
}

Operand BuildSparseSoftmaxCrossEntropy(const Arguments& a) {
  const Tensored labels = a.Tensor(0);
  const Tensored logits = a.Tensor(1);
  const Shape& of_labels = labels.value.shape();
  const Shape& of_logits = logits.value.shape();
  const bool fit = of_labels.known_rank() && of_logits.known_rank() && labels.rows == logits.rows &&
                   of_logits.rank() == of_labels.rank() + 1;
  if (!fit) {
    a.Fail(0, fmt::format("labels must have the axes of logits without the last, found {} and {}",
                          of_labels.Text(), of_logits.Text()));
  }
  const Value numbers =
      of_labels.rank() == 1 ? labels.value : ops::Reshape(labels.value, Shape{kUnknownDim});
  const Value losses =
      ops::SparseSoftmaxCrossEntropyWithLogits(AsRows(a, 1, logits.value), numbers);
  return {Tensored{InShapeOf(losses, of_logits), logits.rows}};
}

// ---- windows ------------------------------------------------------------------------------------

// Height and width of one number, two, or four [1, height, width, 1], as tf.nn takes them.
std::vector<int64_t> WindowOf(const Arguments& a, size_t i) {
  std::vector<int64_t> sides = a.Integers(i);
  if (sides.size() == 1) sides.resize(2, sides[0]);
  const bool is_whole = sides.size() == 4 && sides[0] == 1 && sides[3] == 1;
  if (is_whole) sides = {sides[1], sides[2]};
  const bool fits = sides.size() == 2 && sides[0] > 0 && sides[1] > 0;
  if (!fits) {
    a.Fail(i, fmt::format(
                  "'{}' must be one positive integer, height and width, or [1, height, width, 1]",
                  a.name(i)));
  }
  return sides;
}

std::string WordOf(const Arguments& a, size_t i, std::string_view otherwise) {
  if (!a.Has(i)) return std::string(otherwise);
  const Literal* const literal = a.at(i).literal();
  const auto* const text = literal == nullptr ? nullptr : std::get_if<std::string>(&literal->value);
  if (text == nullptr)
    a.Fail(i, fmt::format("'{}' must be a text, found {}", a.name(i), Described(a.at(i))));
  return *text;
}

template <Value (*op)(Value, const ops::PoolOptions&, std::string_view)>
Operand BuildPool(const Arguments& a) {
  constexpr size_t kPadding = 3;
  constexpr size_t kFormat = 4;
  const Tensored x = a.Tensor(0);
  if (x.rows) a.Fail(0, "cannot be used on single examples");
  const ops::PoolOptions options{.ksize = WindowOf(a, 1),
                                 .strides = WindowOf(a, 2),
                                 .padding = WordOf(a, kPadding, "VALID"),
                                 .data_format = WordOf(a, kFormat, "NHWC")};
  if (options.padding != "SAME" && options.padding != "VALID") {
    a.Fail(kPadding, fmt::format("padding is '{}', expected 'SAME' or 'VALID'", options.padding));
  }
  if (options.data_format != "NHWC") {
    a.Fail(kFormat, fmt::format("data_format is '{}', expected 'NHWC'", options.data_format));
  }
  return {Tensored{op(x.value, options, "")}};
}

Operand BuildTopK(const Arguments& a) {
  constexpr int64_t kMost = 1 << 24;
  const Tensored x = a.Tensor(0);
  const int64_t k = a.Integer(1, 1);
  if (k < 1 || k > kMost) a.Fail(1, fmt::format("k is {}", k));
  if (x.rows && x.value.shape().rank() < 2) a.Fail(0, "an example has only one value");
  const ops::TopKResult top = ops::TopKV2(x.value, static_cast<int>(k));
  return {Operands{{Tensored{top.values, x.rows}}, {Tensored{top.indices, x.rows}}}};
}
Operand BuildInTopK(const Arguments& a) {
  constexpr int64_t kMost = 1 << 24;
  const Tensored targets = a.Tensor(0);
  const Tensored predictions = a.Tensor(1);
  const int64_t k = a.Integer(2);
  if (k < 1 || k > kMost) a.Fail(2, fmt::format("k is {}", k));
  return {Tensored{ops::InTopKV2(predictions.value, targets.value, static_cast<int>(k)),
                   predictions.rows}};
}

constexpr std::string_view kOfClasses = "logits, axis=-1";
constexpr std::string_view kOfLabels = "labels, logits";
constexpr std::string_view kOfWindows = "input, ksize, strides, padding, data_format='NHWC'";
constexpr std::array kNetwork = {
    FormulaRecord{"softmax", kOfClasses, BuildSoftmax<ops::Softmax>},
    FormulaRecord{"log_softmax", kOfClasses, BuildSoftmax<ops::LogSoftmax>},
    FormulaRecord{"leaky_relu", "features, alpha=0.2", BuildLeakyRelu},
    FormulaRecord{"swish silu", "features, beta=1.0", BuildSwish},
    FormulaRecord{"gelu", "features, approximate=False", BuildGelu},
    FormulaRecord{"log_sigmoid", "x", BuildLogSigmoid},
    FormulaRecord{"l2_loss", "t, axis=None", BuildL2Loss},
    FormulaRecord{"l2_normalize", "x, axis=None, epsilon=1e-12", BuildL2Normalize},
    FormulaRecord{"matmul", "a, b, transpose_a=False, transpose_b=False", BuildMatMul},
    FormulaRecord{"sigmoid_cross_entropy_with_logits", kOfLabels, BuildSigmoidCrossEntropy},
    FormulaRecord{"softmax_cross_entropy_with_logits", "labels, logits, axis=-1",
                  BuildSoftmaxCrossEntropy},
    FormulaRecord{"sparse_softmax_cross_entropy_with_logits", kOfLabels,
                  BuildSparseSoftmaxCrossEntropy},
    FormulaRecord{"avg_pool avg_pool2d", kOfWindows, BuildPool<ops::AvgPool>},
    FormulaRecord{"max_pool max_pool2d", kOfWindows, BuildPool<ops::MaxPool>},
    FormulaRecord{"top_k", "input, k=1", BuildTopK},
    FormulaRecord{"in_top_k", "targets, predictions, k", BuildInTopK},
};

}  // namespace

std::span<const FormulaRecord> NetworkFunctions() { return kNetwork; }

}  // namespace tpuest::nn
