#include "models/dnn.h"

#include "core/nn/columns/dnn_model.h"

namespace tpuest::models {

template <class Kind>
TPUEstimatorSpec DnnOf<Kind>::Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                    const Params& params, const JobContext& job) const {
  const nn::AnyHead head = Head();
  // TensorFlow partitions the variables into one part, whose scope contains the slots.
  const nn::OptimizerNames names{.slot_scope = "t_0", .power_beginning = "dnn/head/"};
  return BuildPremade(graph,
                      {.head = head,
                       .inputs = inputs,
                       .mode = mode,
                       .params = params,
                       .job = job,
                       .metrics = metrics,
                       .optimizers = {{nn::ByFamily(optimizer), std::nullopt, "", names}}},
                      [&](nn::ColumnValues& values, int64_t units, nn::Summaries& summaries) {
                        const nn::DnnModel model{.columns = values.columns().Select(
                                                     feature_columns, "model.feature_columns"),
                                                 .hidden_units = hidden_units,
                                                 .activation = activation_fn,
                                                 .dropout = dropout,
                                                 .batch_norm = batch_norm,
                                                 .units = units};
                        return model.Logits(values, summaries);
                      });
}

template struct DnnOf<Classifier>;
template struct DnnOf<Regressor>;
template struct DnnOf<WithHead>;

}  // namespace tpuest::models
