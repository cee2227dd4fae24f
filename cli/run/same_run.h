#pragma once
// Tells a run that a job may go on with from one that is another job's.

#include <string>

#include "cli/job/job_fwd.h"

namespace tpuest::cli {

// Error kCheckpoint where model_dir has checkpoints of a run whose job names another model,
// feature columns or label: it says whose run that is, and three of the keys. What only says how
// is trained (optimizers, rates, dropout, steps, data) may differ, and paths of files do.
void CheckSameRun(const Job& job, const std::string& model_dir);

// The same for a folder that has its steps already and in which no job stands, TensorFlow's or one
// that was copied: its weights are compared with the job's model, where that can be built without a
// look at the data.
void CheckFinishedRun(const Job& job, const std::string& model_dir);

}  // namespace tpuest::cli
