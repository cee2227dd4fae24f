#pragma once
// Turns columns of lists into dense ones, like Dataset.padded_batch and bucket_by_sequence_length.

#include <set>
#include <string>

#include "data/examples/column_plan.h"

namespace tpuest::data {

// The padding value of a column: a scalar of its type. Throws kUsage below `key`, the stage's.
[[nodiscard]] Tensor PaddingValueOf(const PaddingOptions& padding, const TensorSpec& column,
                                    const std::string& key);

// Pads lists as the last stage of an input_fn says. `key` is the input_fn's.
class ListPadder {
 public:
  ListPadder(const InputFnOptions& options, const std::string& key);
  // Throws kUsage, at its key, for a name that is not a column of lists. `columns` are all columns.
  void CheckNames(const std::set<std::string>& lists, const std::set<std::string>& columns) const;
  // Sets the padding of a column of lists of any length.
  void Pad(ColumnPlan& column) const;

 private:
  const InputFnOptions& options_;            // outlives this object
  const PaddingOptions* padding_ = nullptr;  // of the last stage
  std::string key_;
  bool has_windows_ = false;
};

}  // namespace tpuest::data
