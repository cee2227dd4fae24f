#pragma once
// The last part of every model_fn: head, weight decay, optimizer and metrics for its logits.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/nn/columns/embedding_config.h"
#include "core/nn/columns/feature_columns.h"
#include "core/nn/heads/heads.h"
#include "core/nn/layers/layer.h"
#include "core/nn/metrics/extra_metrics.h"
#include "core/nn/optimizers/minimize.h"
#include "core/nn/optimizers/weight_decay.h"
#include "core/nn/summaries.h"
#include "models/formula_summaries.h"

namespace tpuest::models {

// The parts of a job that a model_fn needs besides the model itself.
struct JobContext {
  std::optional<nn::AnyOptimizer> optimizer;  // for TRAIN, if the model does not name its own
  std::optional<double> steps_per_epoch;      // for settings in epochs
  nn::FeatureColumns feature_columns;
  // Tags of scalars that a host_call records in TRAIN: loss, learning_rate, current_epoch,
  // global_norm/gradient_norm, the model's own, and metrics; "variables" and "gradients" for
  // histograms. "" stands for an entry that is a formula.
  std::vector<std::string> summaries;
  std::vector<FormulaSummary> formula_summaries;
  std::vector<std::string> remat;  // name patterns of layers (nn::MinimizeOptions)
  // The tables that their own optimizers train if the job runs as on a TPU.
  std::optional<nn::EmbeddingConfigSpec> embedding_config_spec = {};
};

// The tag of the number of completed epochs; it needs JobContext::steps_per_epoch.
inline constexpr std::string_view kCurrentEpoch = "current_epoch";

inline constexpr std::string_view kPrecisionHelp =
    "precision of activations and matrix products; variables are float32";

inline constexpr std::string_view kOwnOptimizerHelp =
    "optimizer of tf.keras, whose slots are training/<optimizer>/..., or of tf.train; replaces the "
    "job's";

// The optimizer that a model may name itself, in the form of SpecParts::optimizers.
[[nodiscard]] std::vector<nn::OptimizerPart> PartsOf(
    const std::optional<nn::PremadeOptimizer>& optimizer);

// The dtype of activations: "float32" or "bfloat16". Throws Error kUsage at model.precision for
// another word.
[[nodiscard]] DType PrecisionOf(const std::string& precision);

// Returns the context in which a model's layers are built in this mode. `trainable`: name patterns
// of the variables to train.
[[nodiscard]] nn::LayerContext MakeLayerContext(Graph& graph, Mode mode, const Params& params,
                                                const std::string& precision,
                                                const std::vector<std::string>& trainable = {".*"});

// Returns the only feature of a model that takes one, cast to the compute dtype; `weight_columns`
// do not count. Throws Error kUsage if there is no feature or more than one, or if it is not
// numeric.
[[nodiscard]] Value OnlyFeature(const ModelInputs& inputs, const std::string& model,
                                const std::set<std::string>& weight_columns, DType compute_dtype);

// The parts of a model_fn once its logits [B, D] are built.
struct SpecParts {
  const nn::AnyHead& head;
  Value logits;
  // Logits of a MultiHead's heads, by head name, if they are not in one tensor.
  std::map<std::string, Value> logits_by_head;
  const ModelInputs& inputs;
  Mode mode = Mode::kTrain;
  const Params& params;
  nn::LayerContext& layers;
  const JobContext& job;
  // The optimizers of a model that names its own; if empty, the job's optimizer trains.
  std::vector<nn::OptimizerPart> optimizers;
  std::vector<nn::ExtraMetric> metrics;
  nn::L2WeightDecay l2_weight_decay = 0.0;
  nn::Summaries summaries;  // the model's own, for TRAIN
  // True: under a strategy, Keras' optimizers get a replica's share of the loss even if the head's
  // reduction is SUM. TensorFlow's combined models and baselines pass the reduction on to their
  // step only in classifiers.
  bool divides_losses = false;
};

// Builds the spec for logits in a mode. Throws Error kUsage if TRAIN has no optimizer, if EVAL has
// no labels, and for errors of head, metrics and optimizer.
[[nodiscard]] TPUEstimatorSpec BuildSpec(const SpecParts& parts);

}  // namespace tpuest::models
