#pragma once
// Columns of lists as dense ones, as Dataset.padded_batch and bucket_by_sequence_length make them.

#include <set>
#include <string>

#include "data/examples/column_plan.h"

namespace tpuest::data {

// What fills a column up: a scalar of its type. Throws Error kUsage below `key`, the stage's.
[[nodiscard]] Tensor PaddingValueOf(const PaddingOptions& padding, const TensorSpec& column,
                                    const std::string& key);

// What the last stage of an input_fn says of lists; `key` is the input_fn's.
class ListPadder {
 public:
  ListPadder(const InputFnOptions& options, const std::string& key);
  // Throws Error kUsage, at its key, for a name that no column of lists has; `columns` are all.
  void CheckNames(const std::set<std::string>& lists, const std::set<std::string>& columns) const;
  // A column of lists of any length gets its padding.
  void Pad(ColumnPlan& column) const;

 private:
  const InputFnOptions& options_;            // outlive this
  const PaddingOptions* padding_ = nullptr;  // of the last stage
  std::string key_;
  bool has_windows_ = false;
};

}  // namespace tpuest::data
