#pragma once
// The common part of heads: a head turns logits into predictions, labels into a loss, and both into
// metrics, under the keys of tf.estimator's heads. B is the replica's batch size, D the head's
// dimension.

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

// The inputs of a head.
struct HeadInputs {
  Value logits;  // [B, logits_dimension]
  // For MultiHead: logits of each head [B, its dimension], by name. If empty, `logits` holds them
  // side by side.
  std::map<std::string, Value> logits_by_head;
  std::map<std::string, Value> features;  // for weight_column
  Labels<Value> labels;                   // [B] or [B, label dimension]; not valid() in PREDICT
  Value example_weight;                   // [B]; not valid() unless the batch has padding
  // false in PREDICT; true in other modes even for a head that needs no labels
  bool has_loss = false;
  int replicas = 1;
  std::vector<Value> regularization_losses;  // float32 [] each, added to the loss
};

// The outputs of a head, from which a model_fn is made.
struct HeadOutputs {
  std::map<std::string, Value> predictions;
  std::map<std::string, ExportOutput> export_outputs;
  // Loss and metrics; all of them are empty without labels.
  Value loss;  // float32 [], with regularization_losses
  // The tensors that metrics are built from, all [B, ...]: logits, labels [B, D], losses [B, D],
  // weights [B, ...] (only if a weight differs from 1), the numeric predictions,
  // regularization_loss [B, 1] (only if there is a regularization loss).
  Tensors metric_tensors;
  MetricBuilders metrics;
};

// ---- for the heads' own files -----------------------------------------------------------------

// Returns the logits as float32 [B, dimension]. Throws Error kUsage in TensorFlow's words.
[[nodiscard]] Value CheckedLogits(Value logits, int64_t dimension);

// Returns the only label of a head. Throws Error kUsage, in TensorFlow's words, for no label and
// for a dict.
[[nodiscard]] Value OnlyLabel(const HeadInputs& inputs);

// Returns the labels as [B, dimension], in their own dtype. Throws Error kUsage in TensorFlow's
// words.
[[nodiscard]] Value CheckedLabels(Value labels, Value logits, int64_t dimension);

// Returns the labels as float32. Throws Error kUsage for strings.
[[nodiscard]] Value FloatLabels(Value labels);

// Returns the weight column as float32 [B, 1], or of the logits' shape if `per_logit`; not valid()
// if `column` is empty. Throws Error kUsage if it is not a feature or has another shape.
[[nodiscard]] Value WeightColumn(const std::string& column, const HeadInputs& inputs,
                                 bool per_logit);

// The help of the option `name`, which all heads have.
inline constexpr std::string_view kHeadNameHelp =
    "name of the head: its metrics are <metric>/<name>, its ops <name>/...";

// Fills outputs.loss and the metric tensors that all heads have. losses [B, D] float32; weights as
// in LossWeights.
void SetLoss(const HeadInputs& inputs, Value logits, Value labels, Value losses, Value weights,
             const std::string& loss_reduction, HeadOutputs& outputs);

// Throws Error kUsage, in TensorFlow's words, for a name that is not a valid name scope.
void CheckHeadName(const std::optional<std::string>& name);

// Returns the ids 0 .. n-1 in every row, int32 [B, n]; `like` is any [B, n] tensor.
[[nodiscard]] Value AllClassIds(Value like);

}  // namespace tpuest::nn
