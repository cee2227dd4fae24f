#pragma once
// Checks whether a job may resume the run in its model_dir, or the run belongs to another job.

#include <functional>
#include <string>

#include "cli/job/job_fwd.h"
#include "core/estimator/planned_run.h"

namespace tpuest::cli {

// Throws Error kCheckpoint if the job's tpuest.resume is `must` and model_dir has no checkpoint, or
// if it is `never` and model_dir is not empty.
void CheckResume(const Job& job, const std::string& model_dir);

// Throws Error kCheckpoint if model_dir has checkpoints of a run whose job has another model, other
// feature columns or another label; the Error names that run and up to three of the keys. Settings
// that affect only the training (optimizers, rates, dropout, steps, data) and paths of files may
// differ.
void CheckSameRun(const Job& job, const std::string& model_dir);

// The same for a finished run without a job file (TensorFlow's, or a copied one): compares its
// weights with the job's model, if the model can be built without reading data.
void CheckFinishedRun(const Job& job, const std::string& model_dir);

// Plans the job's training against the checkpoint in its model_dir and passes the plan to `use`,
// which must not keep references to it. Returns false without planning if the features are unknown
// before data is read. Error kCheckpoint if the checkpoint does not fit the model.
[[nodiscard]] bool PlanWithoutData(const Job& job,
                                   const std::function<void(const PlannedRun&)>& use);

}  // namespace tpuest::cli
