#include "models/premade.h"

#include <utility>

namespace tpuest::models {

nn::AnyHead Classifier::Head(const Place& place) const {
  if (n_classes == 2) {
    return nn::BinaryClassHead{.weight_column = weight_column,
                               .label_vocabulary = label_vocabulary,
                               .loss_reduction = loss_reduction,
                               .place = place};
  }
  return nn::MultiClassHead{.n_classes = n_classes,
                            .weight_column = weight_column,
                            .label_vocabulary = label_vocabulary,
                            .loss_reduction = loss_reduction,
                            .place = place};
}

nn::AnyHead Regressor::Head(const Place& place) const {
  return nn::RegressionHead{.label_dimension = label_dimension,
                            .weight_column = weight_column,
                            .loss_reduction = loss_reduction,
                            .label_scaling = label_scaling,
                            .place = place};
}

TPUEstimatorSpec BuildPremade(Graph& graph, const PremadeParts& parts, const BuildLogits& logits) {
  if (parts.job.optimizer) {
    throw Error(Code::kUsage, "a premade estimator takes its optimizers under `model`",
                "remove the job's `optimizer`, or move it to model.optimizer")
        .Key("optimizer");
  }
  nn::LayerContext layers = MakeLayerContext(graph, parts.mode, parts.params, "float32");
  layers.example_weight = parts.inputs.example_weight;
  const nn::ColumnSet columns(parts.job.feature_columns);
  nn::ColumnValues values(layers, columns, parts.inputs.features, parts.inputs.present,
                          parts.params.use_tpu);
  nn::Summaries summaries;
  const Value result = logits(values, nn::LogitsDimensionOf(parts.head), summaries);
  return BuildSpec({.head = parts.head,
                    .logits = result,
                    .inputs = parts.inputs,
                    .mode = parts.mode,
                    .params = parts.params,
                    .layers = layers,
                    .job = parts.job,
                    .optimizers = parts.optimizers,
                    .metrics = parts.metrics,
                    .summaries = std::move(summaries),
                    .divides_losses = parts.divides_losses});
}

}  // namespace tpuest::models
