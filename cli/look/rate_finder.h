#pragma once
// The range test of learning rates (Smith 2015): trains a run's first steps at rates that rise step
// by step, and evaluates their losses.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/shell/invocation.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

struct RateStep {
  double rate = 0;
  double loss = 0;
  double smoothed = 0;  // exponential mean of the losses, without the bias of its start
};
struct RateTest {
  std::string key;  // of the job: "optimizer.learning_rate"
  std::vector<RateStep> steps;
  double lowest = 0;      // the rate at the lowest smoothed loss
  double steepest = 0;    // before it, where the smoothed loss falls most over a tenth of the steps
  double proposal = 0;    // a tenth of `lowest`, to one digit
  bool diverged = false;  // the test ended before its last rate
};

struct RateRange {
  double from = 1e-6;
  double to = 10;
  int64_t steps = 140;
  std::optional<std::string> key;  // nullopt: the job's only learning rate
};

// Trains the job of the invocation from its start, in a temporary folder. Error kUsage if it has no
// learning rate, or several and none is named; kData if the input has too few batches.
[[nodiscard]] RateTest TestRates(const Invocation& invocation, const RateRange& range,
                                 config::Sources& sources);

// Evaluates losses at rising rates; `steps` has only `rate` and `loss`.
[[nodiscard]] RateTest JudgeRates(std::vector<RateStep> steps);

}  // namespace tpuest::cli
