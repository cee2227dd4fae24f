#pragma once
// The hyperparameters of a job, for TensorBoard's table of runs.

#include "config/tree.h"
#include "core/io/events/hparams.h"

namespace tpuest::cli {

// The values that the job gives under params, model, optimizer and train_batch_size, by key path
// ("optimizer.learning_rate"). A list of scalars is one text; nulls and lists of maps (layers) are
// left out.
[[nodiscard]] HParams HParamsOf(const config::Tree& tree);

}  // namespace tpuest::cli
