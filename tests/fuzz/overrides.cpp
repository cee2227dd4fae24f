// KEY=VALUE, KEY+=ITEM and ~KEY over a small job, one per line.

#include "cli/check/job_check.h"
#include "cli/job/job.h"
#include "core/base/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

constexpr std::string_view kJob = R"(
version: 1
train_batch_size: 8
params: {rate: 0.1}
input_fns:
  train:
    source: {type: from_tensor_slices, values: {x: [[0, 0], [0, 1]], y: [0, 1]}}
    map: [{op: cast, in: x, dtype: float32}]
    labels: y
model:
  type: Sequential
  layers: [{type: dense, units: 4, activation: tanh}, {type: dense, units: 1}]
  head: {type: BinaryClassHead}
optimizer: {type: MomentumOptimizer, momentum: 0.9, learning_rate: "${params.rate}"}
train_spec: {input_fn: train, max_steps: 10}
)";

}  // namespace

void RunOverrides(std::string_view input) {
  config::Layers layers;
  for (const std::string& line : Split(input, '\n')) layers.overrides.push_back({line});
  config::Sources sources;
  try {
    const cli::LoadedJob loaded = cli::ParseJobText(kJob, "/nowhere/job.yaml", layers, sources);
    std::vector<Fault> faults = cli::ValidateJob(loaded.job);
    if (!faults.empty()) throw Error(Code::kUsage, std::move(faults));
  } catch (const Error& error) {
    (void)config::Render(config::Placed(error, sources).faults(), sources);
    throw;
  }
}

}  // namespace tpuest::fuzz
