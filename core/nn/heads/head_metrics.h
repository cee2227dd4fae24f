#pragma once
// The metrics of tf.estimator's heads, which read a head's metric tensors by name. Private to the
// heads.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/heads/head.h"

namespace tpuest::nn {

// Adds metrics to a head's outputs under "<key>", or "<key>/<name>" if the head has a name. They
// read the outputs' metric_tensors and are weighted by "weights".
class HeadMetrics {
 public:
  // Builds a metric of this name.
  using Build = std::function<MetricOps(Graph&, const std::string& name, const Tensors&)>;

  HeadMetrics(HeadOutputs& outputs, const std::optional<std::string>& head_name)
      : outputs_(outputs), suffix_(head_name ? "/" + *head_name : "") {}

  void Add(const std::string& key, Build build);
  // Adds the mean of a tensor.
  void Mean(const std::string& key, const std::string& tensor);
  // Adds the fraction of examples whose "class_ids" equal their "labels".
  void Accuracy(const std::string& key);
  // Adds precision and recall; a prediction is positive where the tensor exceeds 1/2.
  void PrecisionAndRecall(const std::string& tensor);
  // Adds auc and auc_precision_recall of scores [B, D]. With `column`, adds them for that class
  // only, under "auc/<class_name>", ....
  void AreasUnderCurves(const std::string& scores);
  void AreasUnderCurves(const std::string& scores, int64_t column, const std::string& class_name);
  // Adds {accuracy,precision,recall}/positive_threshold_<t> of scores, for each t.
  void AtThresholds(const std::string& scores, const std::vector<double>& thresholds);
  // Adds average_loss and, if the head has one, regularization_loss.
  void Losses();

 private:
  HeadOutputs& outputs_;
  std::string suffix_;
};

// The metric tensor "weights", or not valid().
[[nodiscard]] Value MetricWeights(const Tensors& tensors);

// Column `column` of x [B, D], as [B, 1].
[[nodiscard]] Value ColumnOf(Value x, int64_t column);

}  // namespace tpuest::nn
