#include "core/nn/heads/regression_head.h"

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

void SetPredictions(const RegressionHead& head, Value logits, HeadOutputs& outputs) {
  const NameScope scope(logits.graph(), "predictions");
  const Value predicted =
      head.inverse_link_fn ? InverseLink(*head.inverse_link_fn, logits) : logits;
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
  const Value losses = regression.loss(logits, labels);
  const Value weights = WeightColumn(head.weight_column.value_or(""), inputs, true);
  SetLoss(inputs, logits, labels, losses, weights, head.loss_reduction, outputs);
  outputs.metric_tensors["predictions"] = outputs.predictions.at("predictions");
  HeadMetrics metrics(outputs, head.name);
  metrics.Losses();
  metrics.Mean("prediction/mean", "predictions");
  metrics.Mean("label/mean", "labels");
  return outputs;
}

}  // namespace tpuest::nn
