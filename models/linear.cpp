#include "models/linear.h"

#include "core/nn/columns/linear_model.h"

namespace tpuest::models {
namespace {

// TensorFlow's default, for an optimizer that names none.
constexpr double kLinearRate = 0.2;

}  // namespace

template <class Kind>
TPUEstimatorSpec LinearOf<Kind>::Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const {
  const nn::AnyHead head = Head();
  // TensorFlow partitions the variables into one part, whose scope contains the slots.
  const nn::OptimizerNames names{.slot_scope = "part_0", .power_beginning = "linear/head/"};
  return BuildPremade(graph,
                      {.head = head,
                       .inputs = inputs,
                       .mode = mode,
                       .params = params,
                       .job = job,
                       .metrics = metrics,
                       .optimizers = {{nn::ByFamily(optimizer), kLinearRate, "", names}}},
                      [&](nn::ColumnValues& values, int64_t units, nn::Summaries& summaries) {
                        const nn::LinearModel model{.columns = values.columns().Select(
                                                        feature_columns, "model.feature_columns"),
                                                    .units = units,
                                                    .sparse_combiner = sparse_combiner};
                        return model.Logits(values, summaries);
                      });
}

template struct LinearOf<Classifier>;
template struct LinearOf<Regressor>;
template struct LinearOf<WithHead>;

}  // namespace tpuest::models
