#pragma once
// The end of every model_fn: head, weight decay, optimizer and metrics around its logits.

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

// The parts of a job that a model_fn needs beside the model itself.
struct JobContext {
  std::optional<nn::AnyOptimizer> optimizer;  // for TRAIN, of models that do not name theirs
  std::optional<double> steps_per_epoch;      // for what counts in epochs
  nn::FeatureColumns feature_columns;
  // Tags of scalars that a host_call records in TRAIN: loss, learning_rate, current_epoch,
  // global_norm/gradient_norm, the model's own, and metrics; "variables" and "gradients" for
  // histograms. "" stands for an entry that is a formula.
  std::vector<std::string> summaries;
  std::vector<FormulaSummary> formula_summaries;
  std::vector<std::string> remat;  // patterns of layers (nn::MinimizeOptions)
  // The tables that optimizers of their own train where the job runs as on a TPU.
  std::optional<nn::EmbeddingConfigSpec> embedding_config_spec = {};
};

// The tag of the epochs that are behind a step; it needs JobContext::steps_per_epoch.
inline constexpr std::string_view kCurrentEpoch = "current_epoch";

inline constexpr std::string_view kPrecisionHelp =
    "precision of activations and matrix products; variables are float32";

inline constexpr std::string_view kOwnOptimizerHelp =
    "optimizer of tf.keras, whose slots are training/<optimizer>/..., or of tf.train; replaces the "
    "job's";

// The optimizer that a model may name itself, as SpecParts::optimizers.
[[nodiscard]] std::vector<nn::OptimizerPart> PartsOf(
    const std::optional<nn::PremadeOptimizer>& optimizer);

// The dtype of activations: "float32" or "bfloat16". Throws Error kUsage at model.precision for
// another word.
[[nodiscard]] DType PrecisionOf(const std::string& precision);

// The context that a model's layers are built in, in this mode. `trainable`: patterns of the names
// of variables that train.
[[nodiscard]] nn::LayerContext MakeLayerContext(Graph& graph, Mode mode, const Params& params,
                                                const std::string& precision,
                                                const std::vector<std::string>& trainable = {".*"});

// The one feature of a model that takes one, cast to the compute dtype; `weight_columns` do not
// count. Throws Error kUsage if there are none or several, or it is not a number.
[[nodiscard]] Value OnlyFeature(const ModelInputs& inputs, const std::string& model,
                                const std::set<std::string>& weight_columns, DType compute_dtype);

// All that a model_fn has when its logits [B, D] stand.
struct SpecParts {
  const nn::AnyHead& head;
  Value logits;
  // Logits of a MultiHead's heads, by their names, where they do not stand in one tensor.
  std::map<std::string, Value> logits_by_head;
  const ModelInputs& inputs;
  Mode mode = Mode::kTrain;
  const Params& params;
  nn::LayerContext& layers;
  const JobContext& job;
  // The optimizers of a model that names its own; without any the job's optimizer trains.
  std::vector<nn::OptimizerPart> optimizers;
  std::vector<nn::ExtraMetric> metrics;
  nn::L2WeightDecay l2_weight_decay = 0.0;
  nn::Summaries summaries;  // the model's own, for TRAIN
  // Under a strategy Keras' optimizers get a replica's share of the loss, though the head's
  // reduction be SUM: TensorFlow's combined models and baselines hand the reduction on to their
  // step in classifiers alone.
  bool divides_losses = false;
};

// The spec of logits in a mode. Throws Error kUsage where TRAIN has no optimizer, where EVAL has no
// labels, and for whatever head, metrics or optimizer refuse.
[[nodiscard]] TPUEstimatorSpec BuildSpec(const SpecParts& parts);

}  // namespace tpuest::models
