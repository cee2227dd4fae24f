#pragma once
// The common part of heads: a head turns logits into predictions, labels into a loss, and both into
// metrics, with the keys of tf.estimator's heads. B is the replica's batch, D the head's dimension.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/graph/export_output.h"
#include "core/graph/graph.h"
#include "core/nn/label_range.h"
#include "core/nn/labels.h"
#include "core/nn/losses.h"
#include "core/nn/metrics/metrics.h"

namespace tpuest::nn {

// All that a head is built on.
struct HeadInputs {
  Value logits;  // [B, logits_dimension]
  // For MultiHead: logits of each head [B, its dimension], by name. Empty: they stand in `logits`,
  // one behind the other.
  std::map<std::string, Value> logits_by_head;
  std::map<std::string, Value> features;  // for weight_column
  Labels<Value> labels;                   // [B] or [B, label dimension]; not valid() in PREDICT
  Value example_weight;                   // [B]; not valid() unless the batch has padding
  bool has_loss = false;                  // not in PREDICT: of a head that needs no labels
  int replicas = 1;
  std::vector<Value> regularization_losses;  // float32 [] each, added to the loss
};

// All that a head gives a model_fn.
struct HeadOutputs {
  std::map<std::string, Value> predictions;
  std::map<std::string, ExportOutput> export_outputs;
  // Loss and metrics; all of them are empty without labels.
  Value loss;  // float32 [], with regularization_losses
  // The tensors that metrics are built from, all [B, ...]: logits, labels [B, D], losses [B, D],
  // weights [B, ...] (only if some differ from 1), the numeric predictions, regularization_loss [B,
  // 1] (only if there is one).
  Tensors metric_tensors;
  MetricBuilders metrics;
};

// ---- for the heads' own files -----------------------------------------------------------------

// The logits as float32 [B, dimension]. Throws Error kUsage in TensorFlow's words.
[[nodiscard]] Value CheckedLogits(Value logits, int64_t dimension);

// The one label of a head. Throws Error kUsage, in TensorFlow's words, where there is none or a
// dict.
[[nodiscard]] Value OnlyLabel(const HeadInputs& inputs);

// The labels as [B, dimension], of their own dtype. Throws Error kUsage in TensorFlow's words.
[[nodiscard]] Value CheckedLabels(Value labels, Value logits, int64_t dimension);

// The labels as float32. Throws Error kUsage for strings.
[[nodiscard]] Value FloatLabels(Value labels);

// The weight column as float32 [B, 1], or of the logits' shape if `per_logit`; not valid() if
// `column` is empty. Throws Error kUsage if it is not among the features, or of another shape.
[[nodiscard]] Value WeightColumn(const std::string& column, const HeadInputs& inputs,
                                 bool per_logit);

// The help of the option `name`, which all heads have.
inline constexpr std::string_view kHeadNameHelp =
    "name of the head: its metrics are <metric>/<name>, its ops <name>/...";

// Fills outputs.loss, and the metric tensors that all heads have. losses [B, D] float32; weights as
// LossWeights has them.
void SetLoss(const HeadInputs& inputs, Value logits, Value labels, Value losses, Value weights,
             const std::string& loss_reduction, HeadOutputs& outputs);

// Throws Error kUsage, in TensorFlow's words, for a name that is no name scope, which it becomes.
void CheckHeadName(const std::optional<std::string>& name);

// The ids 0 .. n-1 in every row, int32 [B, n]; `like` is any [B, n] tensor.
[[nodiscard]] Value AllClassIds(Value like);

}  // namespace tpuest::nn
