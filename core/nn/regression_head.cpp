#include "core/nn/regression_head.h"

#include "core/ops/elementwise.h"

namespace tpuest::nn {

void RegressionHead::CheckOptions() const {
  if (label_dimension < 1) {
    throw Error(Code::kUsage, fmt::format("Invalid label_dimension {}.", label_dimension));
  }
  (void)ParseLossReduction(loss_reduction);
}

HeadOutputs RegressionHead::Build(const HeadInputs& inputs) const {
  CheckOptions();
  HeadOutputs outputs;
  const Value logits = CheckedLogits(inputs.logits, label_dimension);
  outputs.predictions = {{"predictions", logits}};
  const HeadSignature regress{SignatureKind::kRegression, {{"outputs", logits}}};
  outputs.signatures = {{"serving_default", regress},
                        {"regression", regress},
                        {"predict", {SignatureKind::kPredict, outputs.predictions}}};
  if (!inputs.labels.valid()) return outputs;

  const NameScope scope(logits.graph(), "losses");
  const Value labels =
      ops::Cast(CheckedLabels(inputs.labels, logits, label_dimension), DType::kFloat, "labels");
  const Value losses = SquaredError(logits, labels);
  const Value weights = WeightColumn(weight_column.value_or(""), inputs, true);
  SetLoss(inputs, logits, labels, losses, weights, loss_reduction, outputs);
  outputs.metric_tensors["predictions"] = logits;
  AddLossMetrics(outputs);
  outputs.metrics["prediction/mean"] = [](Graph& graph, const Tensors& t) {
    return MeanMetric(graph, "prediction/mean", t.at("predictions"), MetricWeights(t));
  };
  outputs.metrics["label/mean"] = [](Graph& graph, const Tensors& t) {
    return MeanMetric(graph, "label/mean", t.at("labels"), MetricWeights(t));
  };
  return outputs;
}

}  // namespace tpuest::nn
