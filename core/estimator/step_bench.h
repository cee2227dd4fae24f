#pragma once
// Measures a training step: its seconds alone and with its input, and the ops that take them.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/estimator/planned_run.h"

namespace tpuest {

// The time of one kind of op, in seconds.
struct OpTime {
  std::string op;
  double secs = 0;    // in a step, added over threads
  double share = 0;   // of all ops, 0..1
  int64_t calls = 0;  // in a step
};

struct StepBench {
  double step_secs = 0;      // a step on one batch that is in memory
  double together_secs = 0;  // a step with its input read ahead, as in training
  double waited = 0;         // share of that in which the step waits for the input, 0..1
  std::vector<OpTime> ops;   // the longest first; empty for a device
};

// Trains a model with fresh variables for about `secs`; nothing is written. The stream gives
// batches of train_batch_size and does not end. Error kData where it has none.
[[nodiscard]] StepBench BenchStep(const PlanArgs& args, const PlannedRun& run,
                                  std::unique_ptr<BatchStream> stream, double secs);

}  // namespace tpuest
