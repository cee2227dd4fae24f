#pragma once
// What heads share: a head turns logits into predictions, labels into a loss, and both into
// metrics, with the keys of tf.estimator's heads.

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

struct HeadInputs {
  Value logits;                           // [B, logits_dimension]
  std::map<std::string, Value> features;  // for weight_column
  Labels<Value> labels;                   // [B] or [B, label dimension]; not valid() in PREDICT
  Value example_weight;                   // [B]; not valid() unless the batch has padding
  int replicas = 1;
  std::vector<Value> regularization_losses;  // float32 [] each, added to the loss
};

struct HeadOutputs {
  std::map<std::string, Value> predictions;
  std::map<std::string, ExportOutput> export_outputs;
  // The rest is empty without labels.
  Value loss;  // float32 [], with regularization_losses
  // What metrics are built from, all [B, ...]: logits, labels [B, D], losses [B, D], weights
  // [B, ...] (only if some differ from 1), the numeric predictions, regularization_loss [B, 1]
  // (only if there is one).
  Tensors metric_tensors;
  MetricBuilders metrics;
};

// ---- for the heads' own files -----------------------------------------------------------------

// logits as float32 [B, dimension]; Error kUsage in TensorFlow's words.
[[nodiscard]] Value CheckedLogits(Value logits, int64_t dimension);

// The one label of a head. Error kUsage in TensorFlow's words where there is none or a dict.
[[nodiscard]] Value OnlyLabel(const HeadInputs& inputs);

// labels as [B, dimension], of their own dtype; Error kUsage in TensorFlow's words.
[[nodiscard]] Value CheckedLabels(Value labels, Value logits, int64_t dimension);

// labels as float32; Error kUsage for strings.
[[nodiscard]] Value FloatLabels(Value labels);

// The weight column as float32 [B, 1], or of the logits' shape if `per_logit`; not valid() if
// `column` is empty. Error kUsage if it is not among the features, or of another shape.
[[nodiscard]] Value WeightColumn(const std::string& column, const HeadInputs& inputs,
                                 bool per_logit);

// Help of the option that all heads have.
inline constexpr std::string_view kHeadNameHelp =
    "metrics are called <metric>/<name>, the head's ops <name>/...";

// Fills loss, and the metric tensors that all heads have.
void SetLoss(const HeadInputs& inputs, Value logits, Value labels, Value losses, Value weights,
             const std::string& loss_reduction, HeadOutputs& outputs);

// Error kUsage in TensorFlow's words: a head's name becomes a name scope.
void CheckHeadName(const std::optional<std::string>& name);

// 0 .. n-1 in every row, int32 [B, n]; `like` is any [B, n] tensor.
[[nodiscard]] Value AllClassIds(Value like);

}  // namespace tpuest::nn
