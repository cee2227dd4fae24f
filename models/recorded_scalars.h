#pragma once
// `summaries:` of a job as a host_call of training.

#include <map>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/nn/metrics/metrics.h"

namespace tpuest::models {

// The values that a training step can record.
struct Recordable {
  std::map<std::string, Value> scalars;  // [] on each replica, by tag
  // The head's metrics and the job's, by name; each is computed for one batch.
  nn::MetricBuilders metrics;
  nn::Tensors metric_tensors;
  // Other valid words, for the message about an unknown tag.
  std::vector<std::string> others;
};

// Returns a host_call that records these tags. A scalar leaves the device as [1] and is averaged
// over the replicas. A metric's tensors leave the device, and it is computed on the rows of all
// replicas. Empty tags are ignored. Throws Error kUsage at summaries.<i> for an unknown tag, and
// for a metric that cannot be computed from one batch.
[[nodiscard]] HostCall RecordedCall(const std::vector<std::string>& tags, const Recordable& of,
                                    const OpRegistry& registry);

}  // namespace tpuest::models
