#pragma once
// Runs a spec's host_call on the tensors of completed steps.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/estimator/step/programs/host_fn.h"
#include "core/io/events/event.h"

namespace tpuest {

// The event of one call and its global step. Nothing is written if it has no values.
struct HostCallScalars {
  int64_t step = 0;
  std::vector<SummaryValue> values;
};

class HostCallRunner {
 public:
  // Backend, registry and log outlive it.
  HostCallRunner(Backend& backend, const OpRegistry& registry, Log& log, int threads)
      : fn_({.name = "host_call",
             .backend = backend,
             .registry = registry,
             .log = log,
             .threads = threads}) {}

  // Calls it on its tensors, in the order of their names, with every row of the global batch, for a
  // step that began at this global step. Its variables keep their values between calls. Throws
  // Error kUsage for a summary that is not a scalar, and for a step that is not int64 [].
  HostCallScalars Run(const HostCall& call, std::span<const Tensor> tensors, int64_t global_step);

 private:
  HostFn<HostCallOps> fn_;
};

// Throws Error kUsage, in TensorFlow's words, for a tensor without the batch dimension, which the
// device cannot return.
void CheckOutfedTensors(const std::map<std::string, Value>& tensors);

}  // namespace tpuest
