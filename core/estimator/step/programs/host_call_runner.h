#pragma once
// Runs a spec's host_call on the tensors that steps left.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/estimator/step/programs/host_fn.h"
#include "core/io/events/event.h"

namespace tpuest {

// The event that one call gave, and the global step it is of. Without values there is none to
// write.
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

  // Calls it on its tensors, in the order of their names, every row of the global batch, of a step
  // that began with this global step. Its variables keep their values from call to call. Error
  // kUsage for a summary that is no scalar, and for a step that is not int64 [].
  HostCallScalars Run(const HostCall& call, std::span<const Tensor> tensors, int64_t global_step);

 private:
  HostFn<HostCallOps> fn_;
};

// Error kUsage, in TensorFlow's words, for a tensor without the batch dimension, which the device
// cannot hand out.
void CheckOutfedTensors(const std::map<std::string, Value>& tensors);

}  // namespace tpuest
