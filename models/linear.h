#pragma once
// tf.estimator.LinearClassifier, LinearRegressor, LinearEstimator.

#include <string>
#include <vector>

#include "models/premade.h"

namespace tpuest::models {

// One weight per number and category. Kind: Classifier, Regressor or WithHead. Variables
// linear/linear_model/....
template <class Kind>
struct LinearOf {
  static constexpr std::string_view kType = Kind::kLinear;
  static constexpr std::string_view kSummary =
      "one weight per number and category, on feature columns";
  Kind kind;
  std::vector<std::string> feature_columns;
  nn::PremadeOptimizer optimizer = nn::Ftrl{};
  std::string sparse_combiner = "sum";
  std::vector<nn::ExtraMetric> metrics;
  Place place;

  template <class V>
  void Visit(V& v) {
    v("feature_columns", feature_columns, {.help = kColumnsHelp, .required = true});
    kind.Visit(v);
    v("optimizer", optimizer, {.help = kOptimizerHelp});
    v("sparse_combiner", sparse_combiner,
      {.help = "how to combine the values of an example into one",
       .values = {"sum", "mean", "sqrtn"}});
    v("metrics", metrics, {.help = kMetricsHelp});
  }

  [[nodiscard]] nn::AnyHead Head() const { return kind.Head(place); }
  [[nodiscard]] std::vector<NamedColumns> Columns() const {
    return {{"model.feature_columns", feature_columns}};
  }
  [[nodiscard]] TPUEstimatorSpec Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const;
};

using LinearClassifier = LinearOf<Classifier>;
using LinearRegressor = LinearOf<Regressor>;
using LinearEstimator = LinearOf<WithHead>;

}  // namespace tpuest::models
