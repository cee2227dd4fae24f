#pragma once
// The linear model of tf.feature_column: logits = the sum of the weighted columns, plus a bias.

#include <string>
#include <vector>

#include "core/nn/columns/column_values.h"
#include "core/nn/summaries.h"

namespace tpuest::nn {

// tf.feature_column.linear_model, with the variable names of tf.estimator's LinearClassifier.
struct LinearModel {
  std::vector<ColumnRef> columns;
  int64_t units = 1;  // number of logits
  // how the values of a categorical column combine in an example
  std::string sparse_combiner = "sum";
  std::string scope = "linear/linear_model";

  // Returns the logits, float32 [B, units]. Variables "<scope>/<column>/weights" [ids or numbers,
  // units] and "<scope>/bias_weights" [units], initially zeros. Summaries: bias (a histogram if
  // there are several units) and fraction_of_zero_weights, computed from the variables only.
  [[nodiscard]] Value Logits(ColumnValues& values, Summaries& summaries) const;
};

}  // namespace tpuest::nn
