#pragma once
// Measures how fast an input_fn is, and which of its stages takes the time (`tpuest bench input`).

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/estimator/contract/contract.h"
#include "data/options.h"

namespace tpuest::data {

// The rate of an input_fn that is cut behind a stage, with one worker.
struct StageRate {
  std::string stage;            // "read", "parse", "map", "shuffle"
  double examples_per_sec = 0;  // of all stages up to this one
  double share = 0;             // of the time that all stages take, 0..1
};

// The rate of the whole input_fn with one key changed.
struct InputVariant {
  std::string key;  // as a job has it: "cache: memory"
  double examples_per_sec = 0;
};

struct InputBench {
  std::vector<StageRate> stages;  // in their order, batching being part of each
  int workers = 1;
  double examples_per_sec = 0;  // all stages, with as many workers as the job has
  std::vector<InputVariant> variants;
};

struct InputBenchArgs {
  const Clock& clock;
  double secs = 5;  // for all measurements together, about; one batch each at least
  InputContext context;
};

// Measures; opens the input_fn's files once a stage and variant. Throws what MakeInputFn and its
// stream throw.
[[nodiscard]] InputBench BenchInput(const InputFnOptions& options, const std::string& name,
                                    const InputBenchArgs& args);

// Examples a second of a stream, over about `secs` seconds and one batch at least, the first batch
// (which starts the threads) not counted. 0 for a stream of less than two batches.
[[nodiscard]] double RateOf(BatchStream& stream, const Clock& clock, double secs);

}  // namespace tpuest::data
