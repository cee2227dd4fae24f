#pragma once
// Measures the speed of an input_fn and the share of each stage (`tpuest bench input`).

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/estimator/contract/contract.h"
#include "data/options.h"

namespace tpuest::data {

// The rate of an input_fn up to and including a stage, with one worker.
struct StageRate {
  std::string stage;            // "read", "parse", "map", "shuffle"
  double examples_per_sec = 0;  // examples per second through all stages up to this one
  double share = 0;             // fraction of the time of all stages, 0..1
};

// The rate of the whole input_fn with one key changed.
struct InputVariant {
  std::string key;  // as in a job: "cache: memory"
  double examples_per_sec = 0;
};

struct InputBench {
  std::vector<StageRate> stages;  // in order; each includes batching
  int workers = 1;
  // Through all stages, with the job's number of workers.
  double examples_per_sec = 0;
  std::vector<InputVariant> variants;
};

struct InputBenchArgs {
  const Clock& clock;
  double secs = 5;  // approximate time of all measurements together; each takes at least one batch
  InputContext context;
};

// Runs the measurements. Opens the input_fn's files once per stage and variant. Throws the errors
// of MakeInputFn and its stream.
[[nodiscard]] InputBench BenchInput(const InputFnOptions& options, const std::string& name,
                                    const InputBenchArgs& args);

// Examples per second of a stream, over about `secs` seconds and at least one batch, not counting
// the first batch, which starts the threads. 0 for a stream of fewer than two batches.
[[nodiscard]] double RateOf(BatchStream& stream, const Clock& clock, double secs);

}  // namespace tpuest::data
