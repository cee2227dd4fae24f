// Activations and losses of tf.nn.

#include <fmt/format.h>

#include <array>

#include "core/nn/formula/call.h"
#include "core/nn/losses.h"
#include "core/ops/activation.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/matmul.h"
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

Operand BuildMatMul(const Arguments& a) {
  constexpr size_t kTransposeB = 3;
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  const std::vector<Tensored> t = a.Alike(kBoth);
  if (t[0].rows || t[1].rows) a.Fail(0, "is not known of single examples");
  return {Tensored{
      ops::MatMul(t[0].value, t[1].value,
                  {.transpose_a = a.Truth(2, false), .transpose_b = a.Truth(kTransposeB, false)})}};
}

// max(x, 0) - x z + log(1 + exp(-|x|)) of logits x and labels z, of one shape.
Operand BuildSigmoidCrossEntropy(const Arguments& a) {
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  const std::vector<Tensored> t = a.Alike(kBoth);
  const bool fit = t[0].rows == t[1].rows && Compatible(t[0].value.shape(), t[1].value.shape());
  if (!fit) {
    a.Fail(0, fmt::format("labels and logits are of one shape, found {} and {}",
                          t[0].value.shape().Text(), t[1].value.shape().Text()));
  }
  return {Tensored{SigmoidCrossEntropy(t[1].value, t[0].value), t[0].rows}};
}

Operand BuildSoftmaxCrossEntropy(const Arguments& a) {
  constexpr std::array<size_t, 2> kBoth = {0, 1};
  const std::vector<Tensored> t = a.Alike(kBoth);
  return {
      Tensored{ops::SoftmaxCrossEntropyWithLogits(t[1].value, t[0].value), t[0].rows || t[1].rows}};
}
Operand BuildSparseSoftmaxCrossEntropy(const Arguments& a) {
  const Tensored labels = a.Tensor(0);
  const Tensored logits = a.Tensor(1);
  return {
      Tensored{ops::SparseSoftmaxCrossEntropyWithLogits(logits.value, labels.value), logits.rows}};
}

Operand BuildTopK(const Arguments& a) {
  constexpr int64_t kMost = 1 << 24;
  const Tensored x = a.Tensor(0);
  const int64_t k = a.Integer(1, 1);
  if (k < 1 || k > kMost) a.Fail(1, fmt::format("k is {}", k));
  if (x.rows && x.value.shape().rank() < 2) a.Fail(0, "an example has one value");
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
    FormulaRecord{"softmax_cross_entropy_with_logits", kOfLabels, BuildSoftmaxCrossEntropy},
    FormulaRecord{"sparse_softmax_cross_entropy_with_logits", kOfLabels,
                  BuildSparseSoftmaxCrossEntropy},
    FormulaRecord{"top_k", "input, k=1", BuildTopK},
    FormulaRecord{"in_top_k", "targets, predictions, k", BuildInTopK},
};

}  // namespace

std::span<const FormulaRecord> NetworkFunctions() { return kNetwork; }

}  // namespace tpuest::nn
