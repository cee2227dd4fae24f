#pragma once
// tf.estimator.BaselineClassifier, BaselineRegressor, BaselineEstimator: the baseline for other
// models.

#include <vector>

#include "models/premade.h"

namespace tpuest::models {

// A model that predicts the same for every example. Kind: Classifier, Regressor or WithHead. Logits
// [B, D] are the variable baseline/bias [D], independent of the features; D is the head's
// dimension. Build throws Error kUsage if there is no feature to count examples by.
template <class Kind>
struct BaselineOf {
  static constexpr std::string_view kType = Kind::kBaseline;
  static constexpr std::string_view kSummary = "predicts the same for every example";
  Kind kind;
  nn::PremadeOptimizer optimizer = nn::Ftrl{};
  std::vector<nn::ExtraMetric> metrics;
  Place place;

  template <class V>
  void Visit(V& v) {
    kind.Visit(v);
    v("optimizer", optimizer, {.help = kOptimizerHelp});
    v("metrics", metrics, {.help = kMetricsHelp});
  }

  [[nodiscard]] nn::AnyHead Head() const { return kind.Head(place); }
  [[nodiscard]] TPUEstimatorSpec Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                       const Params& params, const JobContext& job) const;
};

using BaselineClassifier = BaselineOf<Classifier>;
using BaselineRegressor = BaselineOf<Regressor>;
using BaselineEstimator = BaselineOf<WithHead>;

}  // namespace tpuest::models
