#include "core/nn/heads/regression_head.h"

#include <cmath>

#include "core/nn/activations.h"
#include "core/nn/heads/head_metrics.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

Value InverseLink(const std::string& name, Value logits) {
  if (name == "exp") return ops::Exp(logits, "predictions");
  if (name == "square") return ops::Square(logits, "predictions");
  return Activate(name, logits);
}

Value Predicted(const RegressionHead& head, Value logits) {
  if (head.inverse_link_fn) return InverseLink(*head.inverse_link_fn, logits);
  if (!head.label_scaling) return logits;
  const LabelScaling& scaling = *head.label_scaling;
  return ops::AddV2(ops::Mul(logits, scaling.std), scaling.mean, "predictions");
}

Value Scaled(const RegressionHead& head, Value labels) {
  if (!head.label_scaling) return labels;
  const LabelScaling& scaling = *head.label_scaling;
  return ops::RealDiv(ops::Sub(labels, scaling.mean), scaling.std, "scaled_labels");
}

void CheckScaling(const RegressionHead& head) {
  if (!head.label_scaling) return;
  const LabelScaling& scaling = *head.label_scaling;
  if (!std::isfinite(scaling.mean) || !std::isfinite(scaling.std) || scaling.std <= 0) {
    throw Error(
        Code::kUsage,
        fmt::format(
            "label_scaling: mean {}, std {}; expected finite numbers and a std greater than 0",
            scaling.mean, scaling.std));
  }
  if (!head.inverse_link_fn) return;
  throw Error(Code::kUsage, "label_scaling and inverse_link_fn both turn logits into predictions",
              "leave one of them out");
}

void SetPredictions(const RegressionHead& head, Value logits, HeadOutputs& outputs) {
  const NameScope scope(logits.graph(), "predictions");
  const Value predicted = Predicted(head, logits);
  outputs.predictions = {{"predictions", predicted}};
  if (head.inverse_link_fn) outputs.predictions["logits"] = logits;
  const ExportOutput regress{ExportKind::kRegression, {{"outputs", predicted}}};
  outputs.export_outputs = {{kDefaultSignature, regress},
                            {"regression", regress},
                            {kPredictSignature, {ExportKind::kPredict, outputs.predictions}}};
}

}  // namespace

const std::vector<std::string_view>& InverseLinkNames() {
  static const std::vector<std::string_view> names = {"exp",      "sigmoid", "tanh",
                                                      "softplus", "relu",    "square"};
  return names;
}

void RegressionHead::CheckOptions() const {
  if (label_dimension < 1) {
    throw Error(Code::kUsage, fmt::format("Invalid label_dimension {}.", label_dimension));
  }
  (void)ParseLossReduction(loss_reduction);
  CheckScaling(*this);
}

HeadOutputs RegressionHead::Build(const HeadInputs& inputs) const {
  return BuildRegression({*this, SquaredError}, inputs);
}

HeadOutputs BuildRegression(const Regression& regression, const HeadInputs& inputs) {
  const RegressionHead& head = regression.head;
  head.CheckOptions();
  HeadOutputs outputs;
  const Value logits = CheckedLogits(inputs.logits, head.label_dimension);
  SetPredictions(head, logits, outputs);
  if (!inputs.labels.valid()) return outputs;

  const NameScope scope(logits.graph(), "losses");
  const Value labels = FloatLabels(CheckedLabels(OnlyLabel(inputs), logits, head.label_dimension));
  const Value losses = regression.loss(logits, Scaled(head, labels));
  const Value weights = WeightColumn(head.weight_column.value_or(""), inputs, true);
  SetLoss(inputs, logits, labels, losses, weights, head.loss_reduction, outputs);
  outputs.metric_tensors["predictions"] = outputs.predictions.at("predictions");
  if (head.label_scaling) {
    const double std = head.label_scaling->std;
    outputs.metric_tensors["losses"] = ops::Mul(losses, std * std);
  }
  HeadMetrics metrics(outputs, head.name);
  metrics.Losses();
  metrics.Mean("prediction/mean", "predictions");
  metrics.Mean("label/mean", "labels");
  return outputs;
}

}  // namespace tpuest::nn
