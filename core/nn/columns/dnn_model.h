#pragma once
// The network of TensorFlow's premade estimators: columns side by side, hidden layers, logits.

#include <optional>
#include <string>
#include <vector>

#include "core/nn/columns/column_values.h"
#include "core/nn/summaries.h"

namespace tpuest::nn {

// tf.estimator's DNN logits: dense(activation) for each of hidden_units, then dense without an
// activation.
struct DnnModel {
  std::vector<ColumnRef> columns;  // dense columns
  std::vector<int64_t> hidden_units;
  std::string activation = "relu";
  // fraction of a hidden layer's outputs that is dropped in training
  std::optional<double> dropout;
  bool batch_norm = false;  // after each hidden layer, with momentum 0.999
  int64_t units = 1;        // number of logits
  std::string scope = "dnn";

  // Returns the logits, float32 [B, units]. Variables "<scope>/hiddenlayer_<i>/..." and
  // "<scope>/logits/...". Summaries: the outputs of the hidden layers, after dropout and batch
  // normalization, and the logits.
  [[nodiscard]] Value Logits(ColumnValues& values, Summaries& summaries) const;
};

}  // namespace tpuest::nn
