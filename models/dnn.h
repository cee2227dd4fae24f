#pragma once
// tf.estimator.DNNClassifier, DNNRegressor, DNNEstimator.

#include <optional>
#include <string>
#include <vector>

#include "core/nn/activations.h"
#include "models/premade.h"

namespace tpuest::models {

// Hidden layers on dense feature columns. Kind: Classifier, Regressor or WithHead. Variables
// dnn/....
template <class Kind>
struct DnnOf {
  static constexpr std::string_view kType = Kind::kDnn;
  static constexpr std::string_view kSummary = "hidden layers on feature columns";
  Kind kind;
  std::vector<int64_t> hidden_units;
  std::vector<std::string> feature_columns;
  nn::PremadeOptimizer optimizer = nn::Adagrad{};
  std::string activation_fn = "relu";
  std::optional<double> dropout;
  bool batch_norm = false;
  std::vector<nn::ExtraMetric> metrics;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("hidden_units", hidden_units,
      {.help = "number of units in each hidden layer", .required = true});
    v("feature_columns", feature_columns, {.help = kColumnsHelp, .required = true});
    kind.Visit(v);
    v("optimizer", optimizer, {.help = kOptimizerHelp});
    v("activation_fn", activation_fn,
      {.help = "activation of the hidden layers", .values = nn::ActivationNames()});
    v("dropout", dropout, {.help = "fraction of hidden outputs to drop in training"});
    v("batch_norm", batch_norm, {.help = "batch normalization after each hidden layer"});
    v("metrics", metrics, {.help = kMetricsHelp});
  }

  [[nodiscard]] nn::AnyHead Head() const { return kind.Head(place); }
  [[nodiscard]] std::vector<NamedColumns> Columns() const {
    return {{"model.feature_columns", feature_columns}};
  }
  [[nodiscard]] TPUEstimatorSpec Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const;
};

using DnnClassifier = DnnOf<Classifier>;
using DnnRegressor = DnnOf<Regressor>;
using DnnEstimator = DnnOf<WithHead>;

}  // namespace tpuest::models
