#pragma once
// The network of TensorFlow's premade estimators: columns side by side, hidden layers, logits.

#include <optional>
#include <string>
#include <vector>

#include "core/nn/columns/column_values.h"
#include "core/nn/summaries.h"

namespace tpuest::nn {

// tf.estimator's DNN logits: dense(activation) for each of hidden_units, then dense without one.
struct DnnModel {
  std::vector<ColumnRef> columns;  // dense ones
  std::vector<int64_t> hidden_units;
  std::string activation = "relu";
  std::optional<double> dropout;  // fraction of a hidden layer's outputs, in training
  bool batch_norm = false;        // behind each hidden layer, momentum 0.999
  int64_t units = 1;              // logits
  std::string scope = "dnn";

  // The logits, float32 [B, units]. Variables "<scope>/hiddenlayer_<i>/..." and
  // "<scope>/logits/...". Summaries: the outputs of the hidden layers, behind dropout and batch
  // normalization, and the logits.
  [[nodiscard]] Value Logits(ColumnValues& values, Summaries& summaries) const;
};

}  // namespace tpuest::nn
