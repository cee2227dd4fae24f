#pragma once
// The linear model of tf.feature_column: logits = sum over columns of what they weigh, and a bias.

#include <string>
#include <vector>

#include "core/nn/columns/column_values.h"
#include "core/nn/summaries.h"

namespace tpuest::nn {

// tf.feature_column.linear_model, with the variables' names of tf.estimator's LinearClassifier.
struct LinearModel {
  std::vector<ColumnRef> columns;
  int64_t units = 1;                    // logits
  std::string sparse_combiner = "sum";  // of an example's values of a categorical column
  std::string scope = "linear/linear_model";

  // The logits, float32 [B, units]. Variables "<scope>/<column>/weights" [ids or numbers, units]
  // and "<scope>/bias_weights" [units], zeros at first. Summaries: bias, a histogram if there are
  // several, and fraction_of_zero_weights, both of the variables alone.
  [[nodiscard]] Value Logits(ColumnValues& values, Summaries& summaries) const;
};

}  // namespace tpuest::nn
