#include "core/nn/heads/mean_squared_error.h"

#include "core/ops/elementwise.h"

namespace tpuest::nn {

void MeanSquaredError::CheckOptions() const {
  if (label_dimension < 1) {
    throw Error(Code::kUsage, fmt::format("Invalid label_dimension {}.", label_dimension));
  }
  if (prediction.empty()) throw Error(Code::kUsage, "the prediction needs a name");
  (void)ParseLossReduction(reduction);
}

HeadOutputs MeanSquaredError::Build(const HeadInputs& inputs) const {
  CheckOptions();
  HeadOutputs outputs;
  const Value logits = CheckedLogits(inputs.logits, label_dimension);
  outputs.predictions = {{prediction, logits}};
  if (!inputs.labels.valid()) return outputs;

  const NameScope scope(logits.graph(), kType);
  const Value labels =
      ops::Cast(CheckedLabels(OnlyLabel(inputs), logits, label_dimension), DType::kFloat, "labels");
  const Value weights = WeightColumn(weight_column.value_or(""), inputs, true);
  SetLoss(inputs, logits, labels, SquaredError(logits, labels), weights, reduction, outputs);
  outputs.metric_tensors["predictions"] = logits;
  return outputs;
}

}  // namespace tpuest::nn
