#pragma once
// tpuest.fold, cross-validation: changes a job's inputs.

#include <string>

#include "cli/job/job_fwd.h"
#include "data/fold_options.h"

namespace tpuest::cli {

// Makes the train_spec's input leave the fold out, and every eval_spec's input read the fold of the
// train_spec's source, by its own map. Changes nothing in a job without tpuest.fold or train_spec.
// Error kUsage for a fold out of range, and if both specs share an input_fn.
void ApplyFold(Job& job);

// Reads the value of --fold: "1/5" is the first of five, counted from 1. Error kUsage for anything
// else; the range is checked by ApplyFold.
[[nodiscard]] data::FoldOptions ParseFold(const std::string& text);

// Returns the folder of a fold's run, below the job's model_dir: "fold_1_of_5".
[[nodiscard]] std::string FoldFolder(const data::FoldOptions& fold);

}  // namespace tpuest::cli
