#pragma once
// Summaries that depend only on the model's variables: computed when they are written, not at every
// step.

#include <vector>

#include "core/estimator/step/model/model_builder.h"
#include "core/estimator/step/programs/host_graph.h"

namespace tpuest {

class WeightSummaries {
 public:
  // The arguments outlive it.
  WeightSummaries(Backend& backend, VariableStore& variables, const BuiltModel& model);

  // For each of the spec's summaries, in their order, whether it is one of these.
  [[nodiscard]] const std::vector<bool>& among() const { return among_; }
  [[nodiscard]] bool empty() const { return work_.fetches.empty(); }
  // Returns the values of these summaries with the current variables, in the order of the spec's
  // summaries.
  [[nodiscard]] std::vector<float> Compute();

 private:
  std::vector<bool> among_;
  HostWork work_;
  HostGraph graph_;
};

}  // namespace tpuest
