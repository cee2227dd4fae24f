#pragma once
// `summaries:` of a job, as a host_call of training.

#include <map>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "core/nn/metrics/metrics.h"

namespace tpuest::models {

// What a training step has to record.
struct Recordable {
  std::map<std::string, Value> scalars;  // [] on each replica, by tag
  // The head's metrics and the job's, by name; each is told of one batch alone.
  nn::MetricBuilders metrics;
  nn::Tensors metric_tensors;
  // Words that are neither, for the message about a tag that is not there.
  std::vector<std::string> others;
};

// A host_call that records these tags. A scalar leaves the device as [1], and what all replicas
// have is averaged; of a metric its tensors leave the device, and it is computed on the rows of all
// replicas. An empty tag is none. Throws Error kUsage at summaries.<i> for a tag that there is not,
// and for a metric that one batch does not give.
[[nodiscard]] HostCall RecordedCall(const std::vector<std::string>& tags, const Recordable& of,
                                    const OpRegistry& registry);

}  // namespace tpuest::models
