#include "models/dnn_linear_combined.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/nn/columns/dnn_model.h"
#include "core/nn/columns/linear_model.h"
#include "core/ops/elementwise.h"

namespace tpuest::models {
namespace {

// TensorFlow's default, for an optimizer that names none.
constexpr double kDnnLearningRate = 0.001;

// TensorFlow's default, by the number of columns: _linear_learning_rate.
double LinearLearningRate(size_t columns) {
  return std::min(0.005, 1.0 / std::sqrt(static_cast<double>(columns)));
}

}  // namespace

template <class Kind>
std::vector<NamedColumns> DnnLinearCombinedOf<Kind>::Columns() const {
  std::vector<NamedColumns> columns;
  if (!linear_feature_columns.empty()) {
    columns.push_back({"model.linear_feature_columns", linear_feature_columns});
  }
  if (!dnn_feature_columns.empty()) {
    columns.push_back({"model.dnn_feature_columns", dnn_feature_columns});
  }
  return columns;
}

template <class Kind>
TPUEstimatorSpec DnnLinearCombinedOf<Kind>::Build(Graph& graph, const ModelInputs& inputs,
                                                  Mode mode, const Params& params,
                                                  const JobContext& job) const {
  const bool linear = !linear_feature_columns.empty();
  const bool dnn = !dnn_feature_columns.empty();
  if (!linear && !dnn) {
    throw Error(Code::kUsage,
                "Either linear_feature_columns or dnn_feature_columns must be defined.");
  }
  if (dnn && dnn_hidden_units.empty()) {
    throw Error(Code::kUsage,
                "dnn_hidden_units must be defined when dnn_feature_columns is specified.");
  }
  std::vector<nn::OptimizerPart> optimizers;
  const nn::OptimizerNames names{.power_beginning = "head/"};
  if (dnn) {
    optimizers.push_back(
        {nn::ByFamily(dnn_optimizer), kDnnLearningRate, linear ? "dnn" : "", names});
  }
  if (linear) {
    optimizers.push_back({nn::ByFamily(linear_optimizer),
                          LinearLearningRate(linear_feature_columns.size()), dnn ? "linear" : "",
                          names});
  }
  const nn::AnyHead head = Head();
  return BuildPremade(
      graph,
      {.head = head,
       .inputs = inputs,
       .mode = mode,
       .params = params,
       .job = job,
       .metrics = metrics,
       .optimizers = optimizers,
       .divides_losses = !std::is_same_v<Kind, Classifier>},
      [&](nn::ColumnValues& values, int64_t units, nn::Summaries& summaries) {
        std::vector<Value> logits;
        if (dnn) {
          const nn::DnnModel model{
              .columns = values.columns().Select(dnn_feature_columns, "model.dnn_feature_columns"),
              .hidden_units = dnn_hidden_units,
              .activation = dnn_activation_fn,
              .dropout = dnn_dropout,
              .batch_norm = batch_norm,
              .units = units};
          logits.push_back(model.Logits(values, summaries));
        }
        if (linear) {
          const nn::LinearModel model{.columns = values.columns().Select(
                                          linear_feature_columns, "model.linear_feature_columns"),
                                      .units = units,
                                      .sparse_combiner = linear_sparse_combiner};
          logits.push_back(model.Logits(values, summaries));
          summaries.activations["linear"] = logits.back();
        }
        return logits.size() == 1 ? logits[0] : ops::AddV2(logits[0], logits[1]);
      });
}

template struct DnnLinearCombinedOf<Classifier>;
template struct DnnLinearCombinedOf<Regressor>;
template struct DnnLinearCombinedOf<WithHead>;

}  // namespace tpuest::models
