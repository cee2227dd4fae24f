#include "core/nn/heads/head.h"

#include <cctype>
#include <string_view>

#include "core/base/text.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

constexpr const char* kLabelHint =
    "Suggested Fix:If your classifier expects one-hot encoding label,check your n_classes argument "
    "to the estimator and/or the shape of your label. Otherwise, check the shape of your label.";

[[noreturn]] void RefuseInput(std::string message, std::string hint = "") {
  throw Error(Code::kUsage, std::move(message), std::move(hint));
}

Value TotalRegularization(const HeadInputs& inputs) {
  if (inputs.regularization_losses.empty()) return {};
  return ops::AddN(inputs.regularization_losses, "regularization_loss");
}

}  // namespace

Value CheckedLogits(Value logits, int64_t dimension) {
  const Shape& shape = logits.shape();
  if (!shape.known_rank() || shape.rank() != 2 || shape.dim(1) != dimension) {
    RefuseInput(
        fmt::format("logits shape must be [D0, D1, ... DN, logits_dimension], got {}.",
                    shape.Text()),
        fmt::format("the last layer must give the logits: [batch, {}] for this head", dimension));
  }
  return ops::Cast(logits, DType::kFloat);
}

Value OnlyLabel(const HeadInputs& inputs) {
  if (!inputs.labels.valid()) {
    RefuseInput("You must provide a labels Tensor. Given: None.",
                "name them in `labels` of the input_fn");
  }
  return inputs.labels.only();
}

Value CheckedLabels(Value labels, Value logits, int64_t dimension) {
  Value column = labels;
  if (labels.shape().known_rank() && labels.shape().rank() == logits.shape().rank() - 1) {
    column = ops::ExpandDims(labels, -1, "labels");
  }
  const Shape& shape = column.shape();
  if (!shape.known_rank() || shape.rank() != 2) {
    RefuseInput(fmt::format("labels shape must be [D0, D1, ... DN, {}], got {}", dimension,
                            labels.shape().Text()),
                kLabelHint);
  }
  if (shape.dim(1) != dimension) {
    RefuseInput(fmt::format("Mismatched label shape. Expected labels dimension={}.  Received {}.",
                            dimension, shape.dim(1)),
                kLabelHint);
  }
  return column;
}

Value FloatLabels(Value labels) {
  if (!IsFloating(labels.dtype()) && !IsInteger(labels.dtype()) && labels.dtype() != DType::kBool) {
    RefuseInput(
        fmt::format("Labels dtype should be a number. Instead got {}.", NameOf(labels.dtype())));
  }
  return ops::Cast(labels, DType::kFloat, "labels");
}

Value WeightColumn(const std::string& column, const HeadInputs& inputs, bool per_logit) {
  if (column.empty()) return {};
  const auto found = inputs.features.find(column);
  if (found == inputs.features.end()) {
    std::vector<std::string> names;
    for (const auto& [name, value] : inputs.features) names.push_back(name);
    const auto nearest = Nearest(column, names);
    RefuseInput(
        fmt::format("weight_column '{}' is not among the features: {}", column, Join(names, ", ")),
        nearest ? fmt::format("did you mean '{}'?", *nearest)
                : "name it in the input_fn's `features`");
  }
  Value weights = found->second;
  const DType dtype = weights.dtype();
  if (!IsFloating(dtype) && !IsInteger(dtype)) {
    RefuseInput(
        fmt::format("Weight column should be castable to float. Given dtype: {}", NameOf(dtype)));
  }
  weights = ops::Cast(weights, DType::kFloat, "weights");
  if (weights.shape().known_rank() && weights.shape().rank() == 1) {
    weights = ops::ExpandDims(weights, -1);
  }
  const Shape& shape = weights.shape();
  const bool fits =
      shape.known_rank() && shape.rank() == 2 &&
      (shape.dim(1) == 1 || (per_logit && shape.dim(1) == inputs.logits.shape().dim(1)));
  if (!fits) {
    RefuseInput(fmt::format(
        "weights shape must be [D0, D1, ... DN]{} [D0, D1, ... DN, 1]{}, got {}",
        per_logit ? "," : " or", per_logit ? " or [D0, D1, ... DN, logits_dimension]" : "",
        found->second.shape().Text()));
  }
  return weights;
}

void SetLoss(const HeadInputs& inputs, Value logits, Value labels, Value losses, Value weights,
             const std::string& loss_reduction, HeadOutputs& outputs) {
  const Value real = inputs.example_weight.valid()
                         ? ops::ExpandDims(inputs.example_weight, -1, "example_weight")
                         : Value{};
  outputs.loss =
      ReduceLoss(losses, {weights, real, inputs.replicas}, ParseLossReduction(loss_reduction));
  Tensors& tensors = outputs.metric_tensors;
  tensors["logits"] = logits;
  tensors["labels"] = labels;
  tensors["losses"] = losses;
  const Value all_weights = ProductOfWeights(weights, real);
  if (all_weights.valid()) tensors["weights"] = all_weights;
  const Value regularization = TotalRegularization(inputs);
  if (regularization.valid()) {
    outputs.loss = ops::AddV2(outputs.loss, regularization, "loss");
    const Value zeros = ops::ZerosLike(ops::Slice(losses, {0, 0}, {-1, 1}));
    tensors["regularization_loss"] = ops::AddV2(zeros, regularization);
  }
}

void CheckHeadName(const std::optional<std::string>& name) {
  if (!name) return;
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  bool valid = !name->empty() && (letter(name->front()) || name->front() == '.');
  for (const char c : *name) {
    valid = valid && (letter(c) || std::string_view("_.\\/>-").find(c) != std::string_view::npos);
  }
  if (valid) return;
  RefuseInput(fmt::format("'{}' is not a valid scope name", *name),
              "the name of a head consists of letters, digits and _.\\/>-, and starts with a "
              "letter, digit or dot");
}

Value AllClassIds(Value like) {
  std::vector<int64_t> ids(static_cast<size_t>(like.shape().dim(-1)));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  const Value zeros = ops::Cast(ops::ZerosLike(like), DType::kInt32);
  return ops::AddV2(zeros, ops::Int32s(like.graph(), ids), "all_class_ids");
}

}  // namespace tpuest::nn
