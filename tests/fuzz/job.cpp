// Job files: YAML, layers, keys, the conditions between keys, and the model's graph.

#include "cli/job/job.h"

#include "cli/check/job_check.h"
#include "cli/check/model_check.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {

void RunJob(std::string_view input) {
  config::Sources sources;
  try {
    const cli::LoadedJob loaded = cli::ParseJobText(input, "/nowhere/job.yaml", {}, sources);
    std::vector<Fault> faults = cli::ValidateJob(loaded.job);
    if (faults.empty()) faults = cli::CheckModel(loaded.job);
    if (!faults.empty()) throw Error(Code::kUsage, std::move(faults));
    // An accepted job is the same after it was written and read.
    config::Sources again;
    const std::string resolved = cli::ResolvedText(loaded.job, loaded.tree);
    (void)cli::ParseJobText(resolved, "/nowhere/job.yaml", {}, again);
  } catch (const Error& error) {
    (void)config::Render(config::Placed(error, sources).faults(), sources);
    throw;
  }
}

}  // namespace tpuest::fuzz
