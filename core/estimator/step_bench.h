#pragma once
// Measures a training step: its seconds with and without input, and the ops that take them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/estimator/planned_run.h"

namespace tpuest {

// The time of one kind of op, in seconds.
struct OpTime {
  std::string op;
  double secs = 0;    // per step, summed over threads
  double share = 0;   // of all ops, 0..1
  int64_t calls = 0;  // per step
};

struct StepBench {
  double step_secs = 0;      // a step on one batch in memory
  double together_secs = 0;  // a step with its input read ahead, as in training
  double waited = 0;         // share of that time in which the step waits for the input, 0..1
  std::vector<OpTime> ops;   // the slowest first; empty on a device
};

// Trains a model with fresh variables for about `secs`; writes nothing. The stream gives batches of
// train_batch_size and must not end. Throws Error kData if it has none.
[[nodiscard]] StepBench BenchStep(const PlanArgs& args, const PlannedRun& run,
                                  std::unique_ptr<BatchStream> stream, double secs);

}  // namespace tpuest
