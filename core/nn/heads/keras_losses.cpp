#include "core/nn/heads/keras_losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/nn/heads/keras_metric.h"
#include "core/nn/losses.h"
#include "core/ops/activation.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/softmax.h"

namespace tpuest::nn {
namespace {

constexpr double kEpsilon = 1e-7;  // tf.keras.backend.epsilon()

// Long names by short ones.
constexpr std::array<std::pair<std::string_view, std::string_view>, 14> kShort = {{
    {"mse", "mean_squared_error"},
    {"MSE", "mean_squared_error"},
    {"mae", "mean_absolute_error"},
    {"MAE", "mean_absolute_error"},
    {"mape", "mean_absolute_percentage_error"},
    {"MAPE", "mean_absolute_percentage_error"},
    {"msle", "mean_squared_logarithmic_error"},
    {"MSLE", "mean_squared_logarithmic_error"},
    {"bce", "binary_crossentropy"},
    {"kld", "kl_divergence"},
    {"KLD", "kl_divergence"},
    {"kullback_leibler_divergence", "kl_divergence"},
    {"logcosh", "log_cosh"},
    {"cosine_proximity", "cosine_similarity"},
}};

Value LastMean(Value x) { return ops::Mean(x, {-1}); }
Value LastSum(Value x) { return ops::Sum(x, {-1}); }
Value Clipped(Value x) { return ops::ClipByValue(x, kEpsilon, 1 - kEpsilon); }

// Returns the input of the op that computed a prediction, if it is of that type.
Value Behind(Value predictions, std::string_view op) {
  Value made = predictions;
  while (made.node->type() == "Cast") made = made.node->inputs()[0];
  if (made.node->type() != op) return {};
  return ops::Cast(made.node->inputs()[0], DType::kFloat);
}

// Returns the logits of a prediction: the input of the op that computed it, if it is of that type,
// and otherwise the prediction itself, if it is one of logits. Keras uses the input of a sigmoid or
// softmax even if from_logits is true.
Value LogitsOf(Value predictions, std::string_view op, bool from_logits) {
  const Value logits = Behind(predictions, op);
  return logits.valid() || !from_logits ? logits : predictions;
}

// Labels of 0 and 1, closer together.
Value SmoothPairs(Value y, double smoothing) {
  return smoothing == 0 ? y : ops::AddV2(ops::Mul(y, 1 - smoothing), 0.5 * smoothing);
}

// Labels [..., C] of which one is 1, with a share of it spread over all classes.
Value SmoothClasses(Value y, double smoothing) {
  if (smoothing == 0) return y;
  const auto classes = static_cast<double>(y.shape().dim(-1));
  return ops::AddV2(ops::Mul(y, 1 - smoothing), smoothing / classes);
}

// One number an element; y as SmoothPairs gives it.
Value BinaryElements(Value y, Value p, const KerasArguments& arguments) {
  const Value logits = LogitsOf(p, "Sigmoid", arguments.from_logits);
  if (logits.valid()) return SigmoidCrossEntropy(logits, y);
  const Value clipped = Clipped(p);
  const Value positive = ops::Mul(y, ops::Log(ops::AddV2(clipped, kEpsilon)));
  const Value rest = ops::AddV2(ops::Sub(1.0, clipped), kEpsilon);
  const Value negative = ops::Mul(ops::Sub(1.0, y), ops::Log(rest));
  return ops::Neg(ops::AddV2(positive, negative));
}

Value BinaryCrossentropy(Value y, Value p, const KerasArguments& arguments) {
  return LastMean(BinaryElements(SmoothPairs(y, arguments.label_smoothing), p, arguments));
}

// The share of what a prediction is in the wrong, to the power of gamma, times the crossentropy.
Value BinaryFocal(Value y, Value p, const KerasArguments& arguments) {
  y = SmoothPairs(y, arguments.label_smoothing);
  const Value sure = arguments.from_logits ? ops::Sigmoid(p) : p;
  const Value right =
      ops::AddV2(ops::Mul(y, sure), ops::Mul(ops::Sub(1.0, y), ops::Sub(1.0, sure)));
  const Value factor = ops::Pow(ops::Sub(1.0, right), arguments.gamma);
  const Value losses = ops::Mul(factor, BinaryElements(y, p, arguments));
  if (!arguments.apply_class_balancing) return LastMean(losses);
  const Value negative = ops::Mul(ops::Sub(1.0, y), 1 - arguments.alpha);
  return LastMean(ops::Mul(ops::AddV2(ops::Mul(y, arguments.alpha), negative), losses));
}

Value CategoricalFocal(Value y, Value p, const KerasArguments& arguments) {
  y = SmoothClasses(y, arguments.label_smoothing);
  const Value logits = LogitsOf(p, "Softmax", arguments.from_logits);
  const Value sure = logits.valid() ? ops::Softmax(logits) : p;
  const Value share = Clipped(ops::RealDiv(sure, ops::Sum(sure, {-1}, /*keep_dims=*/true)));
  const Value factor = ops::Mul(ops::Pow(ops::Sub(1.0, share), arguments.gamma), arguments.alpha);
  return ops::Neg(LastSum(ops::Mul(factor, ops::Mul(y, ops::Log(share)))));
}

// The tensor as rows [n, C], and [n] back in the shape of its leading axes.
Value AsRows(Value x) {
  if (x.shape().rank() == 2) return x;
  return ops::Reshape(x, Shape{-1, x.shape().dim(-1)});
}
Value LikeLeading(Value rows, Value x) {
  if (x.shape().rank() == 2) return rows;
  std::vector<int64_t> dims = {-1};
  for (int axis = 1; axis < x.shape().rank() - 1; ++axis) dims.push_back(x.shape().dim(axis));
  return ops::Reshape(rows, Shape(dims));
}

Value CategoricalCrossentropy(Value y, Value p, const KerasArguments& arguments) {
  y = SmoothClasses(y, arguments.label_smoothing);
  const Value logits = LogitsOf(p, "Softmax", arguments.from_logits);
  if (logits.valid()) {
    return LikeLeading(ops::SoftmaxCrossEntropyWithLogits(AsRows(logits), AsRows(y)), p);
  }
  const Value share = ops::RealDiv(p, ops::Sum(p, {-1}, /*keep_dims=*/true));
  return ops::Neg(LastSum(ops::Mul(y, ops::Log(Clipped(share)))));
}

// bool: where class numbers are not this one.
Value IsNotClass(Value numbers, int64_t ignored) {
  return ops::LogicalNot(ops::Equal(numbers, numbers.graph().Scalar<int64_t>(ignored)));
}

Value SparseCrossentropy(Value y, Value p, const KerasArguments& arguments) {
  Value logits = LogitsOf(p, "Softmax", arguments.from_logits);
  if (!logits.valid()) logits = ops::Log(Clipped(p));
  Value numbers = y.shape().rank() == 1 ? y : ops::Reshape(y, Shape{-1});
  if (arguments.ignore_class) {
    // An ignored class need not be one of the output's.
    const Value counts = IsNotClass(numbers, *arguments.ignore_class);
    numbers = ops::SelectV2(counts, numbers, ops::ZerosLike(numbers));
    const Value losses = ops::SparseSoftmaxCrossEntropyWithLogits(AsRows(logits), numbers);
    return LikeLeading(ops::SelectV2(counts, losses, ops::ZerosLike(losses)), p);
  }
  return LikeLeading(ops::SparseSoftmaxCrossEntropyWithLogits(AsRows(logits), numbers), p);
}

Value HuberElements(Value y, Value p, double delta) {
  const Value error = ops::Abs(ops::Sub(p, y));
  const Value small = ops::Mul(ops::Square(error), 0.5);
  const Value large = ops::Sub(ops::Mul(error, delta), 0.5 * delta * delta);
  return ops::SelectV2(ops::LessEqual(error, ops::Mul(ops::OnesLike(error), delta)), small, large);
}

Value LogCosh(Value y, Value p) {
  const Value x = ops::Sub(p, y);
  return LastMean(ops::Sub(ops::AddV2(x, ops::Softplus(ops::Mul(x, -2.0))), std::log(2.0)));
}

// Labels of 0 and 1 as -1 and 1, where the batch has no other.
Value PlusMinus(Value y) {
  const Value binary =
      ops::LogicalOr(ops::Equal(y, ops::ZerosLike(y)), ops::Equal(y, ops::OnesLike(y)));
  return ops::SelectV2(ops::All(binary), ops::Sub(ops::Mul(y, 2.0), 1.0), y);
}

Value HingeOf(Value y, Value p) {
  return ops::Maximum(ops::Sub(1.0, ops::Mul(PlusMinus(y), p)), 0.0);
}

// ---- tf.compat.v1.losses ------------------------------------------------------------------------

Value LogLoss(Value y, Value p) {
  const Value positive = ops::Mul(y, ops::Log(ops::AddV2(p, kEpsilon)));
  const Value rest = ops::AddV2(ops::Sub(1.0, p), kEpsilon);
  return ops::Neg(ops::AddV2(positive, ops::Mul(ops::Sub(1.0, y), ops::Log(rest))));
}

// Labels of 0 and 1.
Value HingeLoss(Value y, Value p) {
  return ops::Maximum(ops::Sub(1.0, ops::Mul(ops::Sub(ops::Mul(y, 2.0), 1.0), p)), 0.0);
}

// Both are taken as unit vectors.
Value CosineDistance(Value y, Value p) { return ops::Sub(1.0, LastSum(ops::Mul(y, p))); }

Value SoftmaxCrossEntropy(Value y, Value p, double label_smoothing) {
  const Value labels = SmoothClasses(y, label_smoothing);
  return LikeLeading(ops::SoftmaxCrossEntropyWithLogits(AsRows(p), AsRows(labels)), p);
}

Value SparseClasses(Value y, Value p) {
  const Value numbers = y.shape().rank() == 1 ? y : ops::Reshape(y, Shape{-1});
  return LikeLeading(ops::SparseSoftmaxCrossEntropyWithLogits(AsRows(p), numbers), p);
}

// The differences d of an example, n of them: sum (d_i - d_j)^2 over all pairs of them / (n (n-1)),
// which is 2 (n sum d^2 - (sum d)^2) / (n (n-1)).
Value PairwiseSquaredError(Value y, Value p) {
  const Value d = ops::FlattenRows(ops::Sub(p, y));
  const auto n = static_cast<double>(d.shape().dim(1));
  const Value squares = LastSum(ops::Square(d));
  if (n < 2) return ops::Mul(squares, 0.0);
  const Value pairs = ops::Sub(ops::Mul(squares, n), ops::Square(LastSum(d)));
  return ops::Mul(pairs, 2.0 / (n * (n - 1)));
}

// ---- tf.keras -----------------------------------------------------------------------------------

Value CategoricalHinge(Value y, Value p) {
  const Value own = LastSum(ops::Mul(y, p));
  const Value other = ops::Max(ops::Mul(ops::Sub(1.0, y), p), {-1});
  return ops::Maximum(ops::AddV2(ops::Sub(other, own), 1.0), 0.0);
}

Value PercentageError(Value y, Value p) {
  const Value share = ops::RealDiv(ops::Sub(y, p), ops::Maximum(ops::Abs(y), kEpsilon));
  return ops::Mul(LastMean(ops::Abs(share)), 100.0);
}

Value LogarithmicError(Value y, Value p) {
  const auto log = [](Value x) { return ops::Log(ops::AddV2(ops::Maximum(x, kEpsilon), 1.0)); };
  return LastMean(ops::SquaredDifference(log(p), log(y)));
}

Value Divergence(Value y, Value p) {
  const Value wanted = ops::ClipByValue(y, kEpsilon, 1.0);
  const Value given = ops::ClipByValue(p, kEpsilon, 1.0);
  return LastSum(ops::Mul(wanted, ops::Log(ops::RealDiv(wanted, given))));
}

Value UnitVector(Value x) {
  const Value square = ops::Sum(ops::Square(x), {-1}, /*keep_dims=*/true);
  return ops::Mul(x, ops::Rsqrt(ops::Maximum(square, 1e-12)));
}
Value Cosine(Value y, Value p) { return LastSum(ops::Mul(UnitVector(y), UnitVector(p))); }

Value Matches(Value a, Value b) { return ops::Cast(ops::Equal(a, b), DType::kFloat); }

Value BinaryAccuracy(Value y, Value p, double threshold) {
  const Value above = ops::Greater(p, ops::Mul(ops::OnesLike(p), threshold));
  return LastMean(Matches(y, ops::Cast(above, DType::kFloat)));
}

Value InTop(Value classes, Value p, int64_t k) {
  const Value numbers = classes.shape().rank() == 1 ? classes : ops::Reshape(classes, Shape{-1});
  const Value hit = ops::InTopKV2(AsRows(p), numbers, static_cast<int>(k));
  return LikeLeading(ops::Cast(hit, DType::kFloat), p);
}

using Compute = Value (*)(Value y, Value p, const KerasArguments& arguments);
struct Named {
  std::string_view name;
  Compute compute;
};
using Arguments = const KerasArguments&;

constexpr std::
    array kLosses = {Named{"mean_squared_error",
                           [](Value y, Value p, Arguments) {
                             return LastMean(ops::SquaredDifference(p, y));
                           }},
                     Named{"mean_absolute_error",
                           [](Value y, Value p, Arguments) {
                             return LastMean(ops::Abs(ops::Sub(p, y)));
                           }},
                     Named{"mean_absolute_percentage_error",
                           [](Value y, Value p, Arguments) { return PercentageError(y, p); }},
                     Named{"mean_squared_logarithmic_error",
                           [](Value y, Value p, Arguments) { return LogarithmicError(y, p); }},
                     Named{"huber",
                           [](Value y, Value p, Arguments a) { return LastMean(HuberElements(y, p, a.delta)); }},
                     Named{"log_cosh", [](Value y, Value p, Arguments) { return LogCosh(y, p); }},
                     Named{"hinge",
                           [](Value y, Value p, Arguments) { return LastMean(HingeOf(y, p)); }},
                     Named{"squared_hinge",
                           [](Value y, Value p, Arguments) {
                             return LastMean(ops::Square(HingeOf(y, p)));
                           }},
                     Named{"categorical_hinge",
                           [](Value y, Value p, Arguments) { return CategoricalHinge(y, p); }},
                     Named{"kl_divergence",
                           [](Value y, Value p, Arguments) { return Divergence(y, p); }},
                     Named{
                         "poisson",
                         [](Value y, Value p, Arguments) {
                           return LastMean(
                               ops::Sub(p, ops::Mul(y, ops::Log(ops::AddV2(p, kEpsilon)))));
                         }},
                     Named{"cosine_similarity",
                           [](Value y, Value p, Arguments) { return ops::Neg(Cosine(y, p)); }},
                     Named{"binary_crossentropy", BinaryCrossentropy},
                     Named{"categorical_crossentropy", CategoricalCrossentropy},
                     Named{"sparse_categorical_crossentropy", SparseCrossentropy},
                     Named{"binary_focal_crossentropy", BinaryFocal},
                     Named{"categorical_focal_crossentropy", CategoricalFocal},
                     // The losses of tf.compat.v1.losses.
                     Named{"absolute_difference",
                           [](Value y, Value p, Arguments) { return ops::Abs(ops::Sub(p, y)); }},
                     Named{"huber_loss",
                           [](Value y, Value p, Arguments a) {
                             return HuberElements(y, p, a.delta);
                           }},
                     Named{"log_loss", [](Value y, Value p, Arguments) { return LogLoss(y, p); }},
                     Named{"hinge_loss",
                           [](Value y, Value p, Arguments) { return HingeLoss(y, p); }},
                     Named{"cosine_distance",
                           [](Value y, Value p, Arguments) { return CosineDistance(y, p); }},
                     Named{"mean_pairwise_squared_error",
                           [](Value y, Value p, Arguments) { return PairwiseSquaredError(y, p); }},
                     Named{"sigmoid_cross_entropy",
                           [](Value y, Value p, Arguments a) {
                             return SigmoidCrossEntropy(p, SmoothPairs(y, a.label_smoothing));
                           }},
                     Named{"softmax_cross_entropy",
                           [](Value y, Value p, Arguments a) {
                             return SoftmaxCrossEntropy(y, p, a.label_smoothing);
                           }},
                     Named{"sparse_softmax_cross_entropy",
                           [](Value y, Value p, Arguments) { return SparseClasses(y, p); }}};

constexpr std::array kAccuracies = {
    Named{"binary_accuracy",
          [](Value y, Value p, Arguments a) {
            return BinaryAccuracy(y, p, a.threshold.value_or(0.5));
          }},
    Named{"categorical_accuracy",
          [](Value y, Value p, Arguments) {
            return Matches(ops::ArgMax(y, -1), ops::ArgMax(p, -1));
          }},
    Named{"sparse_categorical_accuracy",
          [](Value y, Value p, Arguments) {
            return Matches(ops::Cast(y, DType::kInt64), ops::ArgMax(p, -1));
          }},
    Named{"top_k_categorical_accuracy",
          [](Value y, Value p, Arguments a) { return InTop(ops::ArgMax(y, -1), p, a.k); }},
    Named{"sparse_top_k_categorical_accuracy",
          [](Value y, Value p, Arguments a) { return InTop(y, p, a.k); }}};

constexpr std::string_view kAccuracy = "accuracy";
constexpr std::string_view kCrossentropy = "crossentropy";

const Named* FindFunction(std::string_view name) {
  for (const Named& loss : kLosses) {
    if (loss.name == name) return &loss;
  }
  for (const Named& accuracy : kAccuracies) {
    if (accuracy.name == name) return &accuracy;
  }
  return nullptr;
}

bool IsCrossentropy(std::string_view function) {
  return function.ends_with("crossentropy") || function == "ce" || function == "bce";
}

struct ArgumentRule {
  std::string_view name;
  bool (*is_taken_by)(std::string_view function);
};

constexpr std::array kArguments = {
    ArgumentRule{"from_logits", IsCrossentropy},
    ArgumentRule{"label_smoothing",
                 [](std::string_view f) {
                   return (IsCrossentropy(f) && !f.starts_with("sparse_")) ||
                          f == "sigmoid_cross_entropy" || f == "softmax_cross_entropy";
                 }},
    ArgumentRule{"axis",
                 [](std::string_view f) { return IsCrossentropy(f) || f.starts_with("cosine_"); }},
    ArgumentRule{"ignore_class",
                 [](std::string_view f) { return f == "sparse_categorical_crossentropy"; }},
    ArgumentRule{"delta", [](std::string_view f) { return f == "huber" || f == "huber_loss"; }},
    ArgumentRule{"gamma", [](std::string_view f) { return f.ends_with("focal_crossentropy"); }},
    ArgumentRule{"alpha", [](std::string_view f) { return f.ends_with("focal_crossentropy"); }},
    ArgumentRule{"apply_class_balancing",
                 [](std::string_view f) { return f == "binary_focal_crossentropy"; }},
    ArgumentRule{
        "threshold",
        [](std::string_view f) { return f == "binary_accuracy" || f == "accuracy" || f == "acc"; }},
    ArgumentRule{"k",
                 [](std::string_view f) { return f.find("top_k") != std::string_view::npos; }}};

const ArgumentRule* FindArgument(std::string_view name) {
  const auto* const found = std::find_if(kArguments.begin(), kArguments.end(),
                                         [&](const ArgumentRule& a) { return a.name == name; });
  return found == kArguments.end() ? nullptr : found;
}

// Moves `axis` to the end.
Value WithLast(Value x, int axis) {
  std::vector<int64_t> order;
  for (int i = 0; i < x.shape().rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  order.push_back(axis);
  return ops::Transpose(x, order);
}

// A function along another axis than the last.
Value AlongAxis(const Named& function, Value labels, Value predictions,
                const KerasArguments& arguments) {
  const int rank = predictions.shape().rank();
  const auto axis = static_cast<int>(arguments.axis < 0 ? arguments.axis + rank : arguments.axis);
  if (axis < 1 || axis >= rank) {
    throw Error(Code::kUsage,
                fmt::format("axis is {}, but the output has the axes 1 to {} besides the batch",
                            arguments.axis, rank - 1));
  }
  KerasArguments along = arguments;
  along.axis = -1;
  if (axis == rank - 1) return function.compute(labels, predictions, along);
  const bool is_sparse = TakesClassNumbers(function.name);
  const bool is_binary = function.name.starts_with("binary_");
  Value moved;
  if (IsCrossentropy(function.name)) {
    const Value logits = Behind(predictions, is_binary ? "Sigmoid" : "Softmax");
    if (logits.valid()) {
      moved = is_binary ? ops::Sigmoid(WithLast(logits, axis)) : WithLast(logits, axis);
      along.from_logits = arguments.from_logits || !is_binary;
    }
  }
  if (!moved.valid()) moved = WithLast(predictions, axis);
  return function.compute(is_sparse ? labels : WithLast(labels, axis), moved, along);
}

[[noreturn]] void ThrowLabels(Value labels, Value predictions) {
  throw Error(Code::kUsage,
              fmt::format("labels {} do not fit the output {}", labels.shape().Text(),
                          predictions.shape().Text()),
              "change the input_fn's `labels` or `map`");
}

}  // namespace

const std::vector<std::string_view>& KerasLossNames() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names;
    for (const Named& loss : kLosses) names.push_back(loss.name);
    for (const auto& [name, meaning] : kShort) names.push_back(name);
    return names;
  }();
  return kNames;
}

const std::vector<std::string_view>& KerasMeanNames() {
  static const std::vector<std::string_view> kNames = [] {
    std::vector<std::string_view> names = {kAccuracy, "acc", kCrossentropy, "ce"};
    for (const Named& accuracy : kAccuracies) names.push_back(accuracy.name);
    names.insert(names.end(), KerasLossNames().begin(), KerasLossNames().end());
    return names;
  }();
  return kNames;
}

std::string_view LongKerasName(std::string_view name) {
  for (const auto& [given, meaning] : kShort) {
    if (given == name) return meaning;
  }
  return name;
}

std::string KerasFunctionOf(std::string_view name, std::string_view loss, Value predictions) {
  const bool accuracy = name == kAccuracy || name == "acc";
  if (!accuracy && name != kCrossentropy && name != "ce") return std::string(LongKerasName(name));
  const std::string suffix(accuracy ? kAccuracy : kCrossentropy);
  const Shape& shape = predictions.shape();
  if (shape.dim(-1) == 1 || KerasFunctionOf(loss, "", predictions) == "binary_crossentropy") {
    return "binary_" + suffix;
  }
  return (loss == "sparse_categorical_crossentropy" ? "sparse_categorical_" : "categorical_") +
         suffix;
}

bool TakesClassNumbers(std::string_view function) { return function.starts_with("sparse_"); }

Value KerasLabels(Value labels, Value predictions, std::string_view function) {
  const DType dtype = labels.dtype();
  if (!IsFloating(dtype) && !IsInteger(dtype) && dtype != DType::kBool) {
    throw Error(Code::kUsage,
                fmt::format("Labels dtype should be a number. Instead got {}.", NameOf(dtype)));
  }
  const Shape& shape = labels.shape();
  const int rank = predictions.shape().rank();
  if (TakesClassNumbers(function)) {
    if (shape.rank() == rank && shape.dim(-1) == 1) labels = ops::Squeeze(labels, {rank - 1});
    if (labels.shape().rank() != rank - 1) ThrowLabels(labels, predictions);
    return ops::Cast(labels, DType::kInt64, "labels");
  }
  if (shape.rank() == rank - 1) labels = ops::ExpandDims(labels, -1);
  if (!Compatible(labels.shape(), predictions.shape())) ThrowLabels(labels, predictions);
  return ops::Cast(labels, DType::kFloat, "labels");
}

Value KerasFunction(std::string_view function, Value labels, Value predictions,
                    const KerasArguments& arguments) {
  const Named* const found = FindFunction(function);
  if (found == nullptr) {
    throw Error(Code::kUsage, fmt::format("there is no loss or metric '{}'", function),
                "there are: " + Join({KerasLossNames().begin(), KerasLossNames().end()}, ", "));
  }
  if (arguments.axis != -1) return AlongAxis(*found, labels, predictions, arguments);
  return found->compute(labels, predictions, arguments);
}

bool IsKerasArgument(std::string_view name) {
  const auto& classes = KerasMetricClasses();
  return FindArgument(name) != nullptr ||
         std::any_of(classes.begin(), classes.end(),
                     [&](const KerasMetricClass& one) { return one.Takes(name); });
}

bool KerasTakes(std::string_view function, std::string_view argument) {
  if (const KerasMetricClass* const known = FindKerasMetricClass(function)) {
    return known->Takes(argument);
  }
  const ArgumentRule* const found = FindArgument(argument);
  return found != nullptr && found->is_taken_by(function);
}

Value KerasMask(std::string_view function, Value labels, const KerasArguments& arguments) {
  if (!TakesClassNumbers(function) || !arguments.ignore_class) return {};
  return ops::Cast(IsNotClass(labels, *arguments.ignore_class), DType::kFloat);
}

}  // namespace tpuest::nn
