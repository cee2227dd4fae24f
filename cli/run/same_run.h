#pragma once
// Tells a run that a job may go on with from one that is another job's.

#include <functional>
#include <string>

#include "cli/job/job_fwd.h"
#include "core/estimator/planned_run.h"

namespace tpuest::cli {

// Error kCheckpoint where the job's tpuest.resume is must and model_dir has no checkpoint, or never
// and it is not empty.
void CheckResume(const Job& job, const std::string& model_dir);

// Error kCheckpoint where model_dir has checkpoints of a run whose job names another model,
// feature columns or label: it says whose run that is, and three of the keys. What only says how
// is trained (optimizers, rates, dropout, steps, data) may differ, and paths of files do.
void CheckSameRun(const Job& job, const std::string& model_dir);

// The same for a folder that has its steps already and in which no job stands, TensorFlow's or one
// that was copied: its weights are compared with the job's model, where that can be built without a
// look at the data.
void CheckFinishedRun(const Job& job, const std::string& model_dir);

// Plans the job's training against what its model_dir has and hands the plan to `use`, which keeps
// nothing of it; false, and nothing is planned, where the features are not known without a look at
// the data. Error kCheckpoint where the checkpoint and the model do not fit.
[[nodiscard]] bool PlanWithoutData(const Job& job,
                                   const std::function<void(const PlannedRun&)>& use);

}  // namespace tpuest::cli
