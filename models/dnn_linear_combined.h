#pragma once
// tf.estimator.DNNLinearCombinedClassifier, -Regressor, -Estimator: wide and deep.

#include <optional>
#include <string>
#include <vector>

#include "core/nn/activations.h"
#include "models/premade.h"

namespace tpuest::models {

// The sum of a linear model's logits and a network's, each with its own optimizer (Cheng et al.
// 2016). Kind: Classifier, Regressor or WithHead. Variables linear/linear_model/... and dnn/....
// Build throws Error kUsage, in TensorFlow's words, if both lists of columns are empty.
template <class Kind>
struct DnnLinearCombinedOf {
  static constexpr std::string_view kType = Kind::kCombined;
  static constexpr std::string_view kSummary = "a linear model and hidden layers, trained together";
  Kind kind;
  std::vector<std::string> linear_feature_columns;
  nn::PremadeOptimizer linear_optimizer = nn::Ftrl{};
  std::vector<std::string> dnn_feature_columns;
  nn::PremadeOptimizer dnn_optimizer = nn::Adagrad{};
  std::vector<int64_t> dnn_hidden_units;
  std::string dnn_activation_fn = "relu";
  std::optional<double> dnn_dropout;
  bool batch_norm = false;
  std::string linear_sparse_combiner = "sum";
  std::vector<nn::ExtraMetric> metrics;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("linear_feature_columns", linear_feature_columns, {.help = kColumnsHelp});
    v("linear_optimizer", linear_optimizer, {.help = kOptimizerHelp});
    v("dnn_feature_columns", dnn_feature_columns, {.help = kColumnsHelp});
    v("dnn_optimizer", dnn_optimizer, {.help = kOptimizerHelp});
    v("dnn_hidden_units", dnn_hidden_units, {.help = "number of units in each hidden layer"});
    v("dnn_activation_fn", dnn_activation_fn,
      {.help = "activation of the hidden layers", .values = nn::ActivationNames()});
    v("dnn_dropout", dnn_dropout, {.help = "fraction of hidden outputs to drop in training"});
    kind.Visit(v);
    v("batch_norm", batch_norm, {.help = "batch normalization after each hidden layer"});
    v("linear_sparse_combiner", linear_sparse_combiner,
      {.help = "how to combine the values of an example into one",
       .values = {"sum", "mean", "sqrtn"}});
    v("metrics", metrics, {.help = kMetricsHelp});
  }

  [[nodiscard]] nn::AnyHead Head() const { return kind.Head(place); }
  // The columns of both lists, without empty lists.
  [[nodiscard]] std::vector<NamedColumns> Columns() const;
  [[nodiscard]] TPUEstimatorSpec Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const;
};

using DnnLinearCombinedClassifier = DnnLinearCombinedOf<Classifier>;
using DnnLinearCombinedRegressor = DnnLinearCombinedOf<Regressor>;
using DnnLinearCombinedEstimator = DnnLinearCombinedOf<WithHead>;

}  // namespace tpuest::models
