#pragma once
// How fast an input_fn is, and which of its stages takes the time.

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/clock.h"
#include "core/estimator/contract/contract.h"
#include "data/options.h"

namespace tpuest {

// Of an input_fn that is cut behind a stage, by one worker.
struct StageRate {
  std::string stage;            // "read", "parse", "map", "shuffle"
  double examples_per_sec = 0;  // of all stages up to this one
  double share = 0;             // of the time that all stages take, 0..1
};

// The whole with a key changed.
struct InputVariant {
  std::string key;  // "cache: memory"
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

// Errors as the input_fn's.
[[nodiscard]] InputBench BenchInput(const InputFnOptions& options, const std::string& name,
                                    const InputBenchArgs& args);

// Examples of a stream in a second; `secs` long, one batch at least, without the first one.
// 0 for a stream of less than two batches.
[[nodiscard]] double RateOf(BatchStream& stream, const Clock& clock, double secs);

}  // namespace tpuest
