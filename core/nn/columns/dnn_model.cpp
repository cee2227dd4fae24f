#include "core/nn/columns/dnn_model.h"

#include "core/nn/layers/batch_normalization.h"
#include "core/nn/layers/dense_layer.h"
#include "core/nn/layers/noise_layers.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {

Value DnnModel::Logits(ColumnValues& values, Summaries& summaries) const {
  LayerContext& layers = values.layers();
  const std::string input_scope = scope + "/input_from_feature_columns/input_layer";
  std::vector<Value> inputs;
  for (const ColumnRef& column : columns) {
    const auto dense = [&] { return values.DenseOf(column, input_scope); };
    inputs.push_back(values.Record(column, input_scope, dense));
  }
  Value x = inputs.size() == 1 ? inputs[0] : ops::ConcatV2(inputs, 1);
  x = ops::Cast(x, layers.compute_dtype);
  for (size_t i = 0; i < hidden_units.size(); ++i) {
    const std::string name = fmt::format("{}/hiddenlayer_{}", scope, i);
    x = Dense{.units = hidden_units[i], .activation = activation, .name = name}.Apply(layers, x);
    if (dropout) x = Dropout{.rate = *dropout, .name = name + "/dropout"}.Apply(layers, x);
    if (batch_norm) {
      x = BatchNormalization{.momentum = 0.999, .name = fmt::format("{}/batchnorm_{}", name, i)}
              .Apply(layers, x);
    }
    summaries.activations[name] = x;
  }
  const std::string name = scope + "/logits";
  return summaries.activations[name] = Dense{.units = units, .name = name}.Apply(layers, x);
}

}  // namespace tpuest::nn
