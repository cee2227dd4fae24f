#pragma once
// The common part of TensorFlow's premade estimators: each network exists as a Classifier, a
// Regressor and an Estimator with the job's head.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/nn/columns/column_values.h"
#include "core/nn/summaries.h"
#include "models/build_spec.h"

namespace tpuest::models {

// Predicts classes. n_classes 2: BinaryClassHead, more: MultiClassHead.
struct Classifier {
  static constexpr std::string_view kLinear = "LinearClassifier";
  static constexpr std::string_view kDnn = "DNNClassifier";
  static constexpr std::string_view kCombined = "DNNLinearCombinedClassifier";
  static constexpr std::string_view kBaseline = "BaselineClassifier";
  int64_t n_classes = 2;
  std::optional<std::string> weight_column;
  nn::LabelVocabulary label_vocabulary;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";

  template <class V>
  void Visit(V& v) {
    v("n_classes", n_classes, {.help = "number of classes"});
    v("weight_column", weight_column, {.help = "feature that holds the weights of examples"});
    v("label_vocabulary", label_vocabulary,
      {.help = "names of the classes; string labels are looked up in this list"});
    v("loss_reduction", loss_reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = nn::LossReductionNames()});
  }
  [[nodiscard]] nn::AnyHead Head(const Place& place) const;
};

// Predicts numbers: RegressionHead.
struct Regressor {
  static constexpr std::string_view kLinear = "LinearRegressor";
  static constexpr std::string_view kDnn = "DNNRegressor";
  static constexpr std::string_view kCombined = "DNNLinearCombinedRegressor";
  static constexpr std::string_view kBaseline = "BaselineRegressor";
  int64_t label_dimension = 1;
  std::optional<std::string> weight_column;
  std::string loss_reduction = "SUM_OVER_BATCH_SIZE";
  std::optional<nn::LabelScaling> label_scaling;

  template <class V>
  void Visit(V& v) {
    v("label_dimension", label_dimension, {.help = "width of a label"});
    v("weight_column", weight_column, {.help = "feature that holds the weights of examples"});
    v("loss_reduction", loss_reduction,
      {.help = "how to reduce the losses of a batch to one number",
       .values = nn::LossReductionNames()});
    v("label_scaling", label_scaling, {.help = nn::kLabelScalingHelp, .tpuest = true});
  }
  [[nodiscard]] nn::AnyHead Head(const Place& place) const;
};

// Uses the head that the job names.
struct WithHead {
  static constexpr std::string_view kLinear = "LinearEstimator";
  static constexpr std::string_view kDnn = "DNNEstimator";
  static constexpr std::string_view kCombined = "DNNLinearCombinedEstimator";
  static constexpr std::string_view kBaseline = "BaselineEstimator";
  nn::AnyHead head;

  template <class V>
  void Visit(V& v) {
    v("head", head, {.help = "head that computes loss, predictions and metrics", .required = true});
  }
  [[nodiscard]] const nn::AnyHead& Head(const Place& /*place*/) const { return head; }
};

inline constexpr std::string_view kColumnsHelp = "names of feature_columns";
inline constexpr std::string_view kMetricsHelp =
    "metrics to add to those of the head; the same name replaces one";
inline constexpr std::string_view kOptimizerHelp =
    "optimizer of tf.keras, as in TensorFlow 2, or of tf.train, as in tf.compat.v1.estimator";

// The columns under a key of the model.
struct NamedColumns {
  std::string key;  // "model.feature_columns"
  std::vector<std::string> names;
};

// The parts of a model_fn around a premade network.
struct PremadeParts {
  const nn::AnyHead& head;
  const ModelInputs& inputs;
  Mode mode = Mode::kTrain;
  const Params& params;
  const JobContext& job;
  std::vector<nn::ExtraMetric> metrics;
  std::vector<nn::OptimizerPart> optimizers;
  bool divides_losses = false;  // as in SpecParts
};
// Builds the spec of a premade network; `logits` builds the network [B, units] and may add to the
// summaries. Throws Error kUsage at `optimizer` if the job has one, because these models name their
// own.
using BuildLogits =
    std::function<Value(nn::ColumnValues& values, int64_t units, nn::Summaries& summaries)>;
[[nodiscard]] TPUEstimatorSpec BuildPremade(Graph& graph, const PremadeParts& parts,
                                            const BuildLogits& logits);

}  // namespace tpuest::models
