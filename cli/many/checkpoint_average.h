#pragma once
// Averages the parameters of several checkpoints (Izmailov et al. 2018, "Averaging Weights Leads to
// Wider Optima"; TensorFlow models ship such scripts as avg_checkpoints).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/io/bundle.h"

namespace tpuest::cli {

struct CheckpointAverage {
  std::vector<std::string> prefixes;  // global steps ascend
  std::optional<int64_t> global_step;
  std::vector<NamedTensor> tensors;
  // Number of `tensors` that are means; the others come from the newest checkpoint.
  size_t averaged = 0;

  [[nodiscard]] const std::string& newest() const { return prefixes.back(); }
};

// Variables of floats are averaged in float64, moving averages and batch statistics among them.
// Everything else comes from the newest checkpoint: integers (global_step), strings, the
// optimizer's slots and scalars, which belong to its own weights, and the position of its run.
// Needs at least one prefix; of equal steps the last is the newest. Error kCheckpoint with every
// variable whose name, dtype or shape differs.
[[nodiscard]] CheckpointAverage AverageCheckpoints(const std::vector<std::string>& prefixes);

}  // namespace tpuest::cli
