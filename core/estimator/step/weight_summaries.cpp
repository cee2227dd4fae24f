#include "core/estimator/step/weight_summaries.h"

#include <algorithm>

#include "core/graph/cut.h"

namespace tpuest {

WeightSummaries::WeightSummaries(Backend& backend, VariableStore& variables,
                                 const BuiltModel& model)
    : graph_(backend, *model.graph, variables) {
  for (const auto& [tag, value] : model.spec.summaries) {
    const std::vector<char> needed = NeededNodes(*model.graph, {value}, {}, {});
    const bool reads_batch = std::any_of(
        model.inputs.begin(), model.inputs.end(),
        [&](const Value& input) { return needed[static_cast<size_t>(input.node->id())] != 0; });
    among_.push_back(!reads_batch);
    if (!reads_batch) work_.fetches.push_back(value);
  }
}

std::vector<float> WeightSummaries::Compute() {
  if (empty()) return {};
  std::vector<float> values;
  for (const Tensor& value : graph_.Run(work_)) {
    values.push_back(static_cast<float>(value.AsDouble(0)));
  }
  return values;
}

}  // namespace tpuest
