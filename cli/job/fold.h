#pragma once
// tpuest.fold: what it makes of a job's inputs.

#include <string>

#include "cli/job/job_fwd.h"
#include "data/fold_options.h"

namespace tpuest::cli {

// The train_spec's input leaves the fold out; every eval_spec's input reads the fold of the
// train_spec's source, by its own map. Error kUsage for a fold that there is not, and where both
// have one input_fn.
void ApplyFold(Job& job);

// "1/5" of --fold as tpuest.fold. Error kUsage for anything else.
[[nodiscard]] FoldOptions ParseFold(const std::string& text);

// Where a fold's run stands below the job's model_dir: "fold_1_of_5".
[[nodiscard]] std::string FoldFolder(const FoldOptions& fold);

}  // namespace tpuest::cli
