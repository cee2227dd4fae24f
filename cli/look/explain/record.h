#pragma once
// What made the prediction of one record: each feature is left out, by taking it from other rows,
// and the prediction is as much higher with it as it is on average without.

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
  double change = 0;   // the prediction less that
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

// Of a head of classes it is the probability of the class that is predicted, of others the first
// number. Error kUsage for a record that there is not and a head without either; else as
// Estimator::Predict's.
[[nodiscard]] RecordReport ExplainRecord(Estimator& estimator, const RecordRequest& request,
                                         const KeptRows& rows);

}  // namespace tpuest::cli
