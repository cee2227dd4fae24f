#pragma once
// Explains the prediction of one record: each feature in turn is replaced by its values in other
// rows; its contribution is the prediction minus the mean prediction without it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/look/explain/rows.h"
#include "core/estimator/estimator.h"

namespace tpuest::cli {

struct Contribution {
  std::string feature;
  std::string value;   // the record's, as text
  double without = 0;  // the mean prediction with other rows' values
  double change = 0;   // the prediction minus `without`
};
struct RecordReport {
  std::string prediction;  // "probabilities/tulip", "predictions"
  double value = 0;
  std::vector<Contribution> features;  // the largest change, up or down, first
};

struct RecordRequest {
  std::optional<std::string> checkpoint;
  std::string label;  // of the evaluation, for messages
  int64_t record = 0;
  int64_t samples = 0;  // how many other rows each feature is taken from
  uint64_t seed = 0;
};

// Explains the probability of the predicted class for a head of classes, otherwise the first
// number. Error kUsage for a record out of range and a head without either; otherwise the errors of
// Estimator::Predict.
[[nodiscard]] RecordReport ExplainRecord(Estimator& estimator, const RecordRequest& request,
                                         const KeptRows& rows);

}  // namespace tpuest::cli
