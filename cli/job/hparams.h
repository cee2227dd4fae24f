#pragma once
// The hyperparameters of a job, for TensorBoard's table of runs.

#include "config/tree.h"
#include "core/io/events/hparams.h"

namespace tpuest::cli {

// Returns the values that the job sets in params, model, optimizer and train_batch_size, by key
// path ("optimizer.learning_rate"). A list of scalars is one string; nulls and lists of maps
// (layers) are skipped.
[[nodiscard]] HParams HParamsOf(const config::Tree& tree);

}  // namespace tpuest::cli
